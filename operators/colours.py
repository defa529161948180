"""From a decoded picture of any kind to upright RGB: orientation, palettes, print colours, depth, transparency."""

from typing import Literal, get_args

import numpy as np
from PIL import ExifTags, Image

from operators import InputError

Background = Literal["white", "black"]
"""What may be put behind the transparent parts of a picture."""

BACKGROUNDS: tuple[Background, ...] = get_args(Background)

_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
"""What sets a picture upright, by its EXIF orientation."""

_WITH_ALPHA = ("RGBA", "LA", "PA", "RGBa")


def upright_rgb(picture: Image.Image, name: str, background: Background | None) -> Image.Image:
    """The picture as its owner sees it, in 8-bit RGB; an InputError where that would be a guess."""
    picture.load()  # a TIFF turns itself while it is decoded, and forgets its orientation then
    turn = _TURNS.get(_orientation(picture))
    colours = _without_alpha(_eight_bits(picture, name), name, background)
    return colours if turn is None else colours.transpose(turn)


def _orientation(picture: Image.Image) -> int:
    try:
        return int(picture.getexif().get(ExifTags.Base.Orientation, 1))
    except Exception:  # a camera's broken note costs the turn, not the picture
        return 1


def _eight_bits(picture: Image.Image, name: str) -> Image.Image:
    """16 bits keep their upper byte, as Pillow does itself where it decodes 16-bit colours."""
    if not picture.mode.startswith(("I", "F")):
        return picture
    # Pillow stretches a 16-bit PPM of any brightest value to 65535, and calls it I
    if not (picture.mode.startswith("I;16") or (picture.mode == "I" and picture.format == "PPM")):
        raise InputError(
            f"image {name}: its pixels have 32 bits (mode {picture.mode}), of which white is unknown; "
            "save it with 8 or 16 bits per channel."
        )
    values = np.asarray(picture)
    grey = Image.fromarray((values >> 8).astype(np.uint8))
    if "transparency" in picture.info:
        grey.putalpha(Image.fromarray(np.where(values == picture.info["transparency"], 0, 255).astype(np.uint8)))
    return grey


def _without_alpha(picture: Image.Image, name: str, background: Background | None) -> Image.Image:
    if picture.mode not in _WITH_ALPHA and "transparency" not in picture.info:
        return picture.convert("RGB")
    picture = picture.convert("RGBA")
    least, _ = picture.getchannel("A").getextrema()
    if least == 255:
        return picture.convert("RGB")
    if background is None:
        raise InputError(
            f"image {name}: parts of it are transparent; --background {' or '.join(BACKGROUNDS)} says what is behind."
        )
    return Image.alpha_composite(Image.new("RGBA", picture.size, background), picture).convert("RGB")
