"""Pictures in and out: float tensors in [-1, 1], PNG files, panels side by side."""

import io
import logging
import os
import secrets
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch
from PIL import Image, UnidentifiedImageError
from torch import Tensor

from operators import InputError
from operators.colours import Background, upright_rgb

MAX_PIXELS = 64_000_000
"""Larger pictures are refused before they are decoded."""

MAX_FILE_BYTES = 4 * MAX_PIXELS
"""A larger file cannot be a picture we would decode, so it is not looked into either."""

FORMATS = ("PNG", "JPEG", "WEBP", "BMP", "GIF", "TIFF", "PPM")
"""What is decoded. Pillow knows dozens more, some of which hand the file to other programs."""

logging.getLogger("PIL").addHandler(logging.NullHandler())  # what it says of broken files is in our sentences


def read_image(
    path: Path,
    size: tuple[int, int] | None = None,
    *,
    resize: bool = False,
    background: Background | None = None,
    grey: bool = False,
) -> Tensor:
    """A picture as upright RGB, (3, H, W) in [-1, 1]; of another size (H, W) it is refused, or cropped and resized.

    Grey, palette, CMYK and 16-bit pictures are converted; transparent ones are refused without a `background`. With
    `grey` it has one channel, (1, H, W).
    """
    return _decode(path, str(path), size, resize, background, grey)


def decode_image(
    content: bytes,
    name: str,
    size: tuple[int, int] | None = None,
    *,
    resize: bool = False,
    background: Background | None = None,
    grey: bool = False,
) -> Tensor:
    """Like `read_image`, from an encoded picture's bytes."""
    return _decode(io.BytesIO(content), name, size, resize, background, grey)


def decode_stored(content: bytes, name: str) -> Tensor:
    """A picture that this program stored, as it is: (3, H, W) if it is RGB, (1, H, W) if grey; others are refused."""
    with _explained(name), _opened(io.BytesIO(content), name) as encoded:
        if encoded.mode not in ("RGB", "L"):
            raise InputError(f"image {name}: its mode is {encoded.mode} and must be RGB or L.")
        return _to_tensor(encoded)


def _decode(
    file: Path | io.BytesIO,
    name: str,
    size: tuple[int, int] | None,
    resize: bool,
    background: Background | None,
    grey: bool,
) -> Tensor:
    with _explained(name), _opened(file, name) as encoded:
        picture = upright_rgb(encoded, name, background)
    if size is not None and (picture.height, picture.width) != size:
        if not resize:
            raise InputError(
                f"image {name}: it is {picture.width}x{picture.height} and must be {size[1]}x{size[0]}; "
                "--resize crops and resizes it."
            )
        picture = _crop_and_resize(picture, size)
    return _to_tensor(picture.convert("L") if grey else picture)


@contextmanager
def _explained(name: str) -> Iterator[None]:
    """Whatever broken bytes lead a decoder to raise, as one sentence; what it would only warn of is passed over."""
    try:
        with warnings.catch_warnings(action="ignore"):
            yield
    except FileNotFoundError:
        raise InputError(f"image {name}: there is no such file.") from None
    except InputError:
        raise
    except Image.DecompressionBombError:
        raise InputError(f"image {name}: it is above {MAX_PIXELS} pixels.") from None
    except Exception as error:
        known = ", ".join(FORMATS)
        reason = f"no format known; {known} are" if isinstance(error, UnidentifiedImageError) else _one_line(error)
        raise InputError(f"image {name}: it cannot be read as a picture ({reason}).") from None


def _opened(file: Path | io.BytesIO, name: str) -> Image.Image:
    """The picture with its header read; what that claims decides before a single pixel is unpacked."""
    if isinstance(file, Path):
        check_regular(file, f"image {name}")
    length = file.stat().st_size if isinstance(file, Path) else file.getbuffer().nbytes
    if length > MAX_FILE_BYTES:
        raise InputError(f"image {name}: its file has {length} bytes and may have {MAX_FILE_BYTES}.")
    encoded = Image.open(file, formats=FORMATS)
    if encoded.width * encoded.height > MAX_PIXELS:  # Pillow's own limit is wider and only warns
        encoded.close()
        raise InputError(f"image {name}: {encoded.width}x{encoded.height} is above {MAX_PIXELS} pixels.")
    return encoded


def check_regular(path: Path, what: str) -> None:
    """Raise an InputError for a folder, and for a pipe or device, which would be waited for without end."""
    if path.exists() and not path.is_file():
        raise InputError(f"{what}: it is a {'folder' if path.is_dir() else 'pipe or device'} and must be a file.")


def _to_tensor(picture: Image.Image) -> Tensor:
    array = np.asarray(picture, dtype=np.float32)
    return torch.from_numpy(array.reshape(*array.shape[:2], -1)).permute(2, 0, 1) / 127.5 - 1


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def _crop_and_resize(picture: Image.Image, size: tuple[int, int]) -> Image.Image:
    height, width = size
    scale = min(picture.width / width, picture.height / height)
    crop_width, crop_height = width * scale, height * scale
    left, top = (picture.width - crop_width) / 2, (picture.height - crop_height) / 2
    box = (left, top, left + crop_width, top + crop_height)
    return picture.resize((width, height), Image.Resampling.LANCZOS, box=box)


def to_picture(image: Tensor) -> Image.Image:
    """A (3, H, W) or (1, H, W) tensor in [-1, 1], clamped and rounded to bytes."""
    bytes_ = image.detach().float().cpu().clamp(-1, 1).add(1).mul(127.5).round().to(torch.uint8)
    array = bytes_.permute(1, 2, 0).numpy()
    return Image.fromarray(array.squeeze(-1) if array.shape[-1] == 1 else array)


def panel(images: Sequence[Tensor], height: int = 256, gap: int = 8) -> Image.Image:
    """Pictures of any size side by side at one height; pixels are kept sharp, so that what is missing stays visible."""
    return strip([to_picture(image).convert("RGB") for image in images], height, gap)


def strip(pictures: Sequence[Image.Image], height: int = 256, gap: int = 8) -> Image.Image:
    """Pictures side by side at one height, or the height of the tallest."""
    tall = max(height, max(picture.height for picture in pictures))
    scaled = [p.resize((round(p.width * tall / p.height), tall), Image.Resampling.NEAREST) for p in pictures]
    sheet = Image.new("RGB", (sum(p.width for p in scaled) + gap * (len(scaled) - 1), tall), "white")
    left = 0
    for picture in scaled:
        sheet.paste(picture, (left, 0))
        left += picture.width + gap
    return sheet


def spread_map(spread: Tensor) -> Tensor:
    """How far samples of a picture lie apart, (C, H, W), as a picture: white where most, black where not at all."""
    mean = spread.float().mean(dim=0, keepdim=True)  # (1, H, W)
    return mean / mean.amax().clamp(min=1e-6) * 2 - 1


def write_png(picture: Image.Image, path: Path) -> None:
    """Written whole or not at all."""
    write_bytes(encode_png(picture), path)


def encode_png(picture: Image.Image) -> bytes:
    """The picture as the content of a PNG file."""
    buffer = io.BytesIO()
    picture.save(buffer, format="PNG")
    return buffer.getvalue()


def write_npy(array: Tensor, path: Path) -> None:
    """A float32 `.npy` file, written whole or not at all."""
    buffer = io.BytesIO()
    np.save(buffer, array.detach().float().cpu().numpy())
    write_bytes(buffer.getvalue(), path)


def write_bytes(content: bytes, path: Path) -> None:
    """Through a new file beside it: an interrupted run leaves no half-written result, and no link is followed."""
    partial = path.with_name(f".{secrets.token_hex(8)}.partial")
    try:
        with partial.open("xb") as file:
            file.write(content)
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def read_measurement(path: Path, shape: tuple[int, ...]) -> Tensor:
    """A stored measurement of this shape as `measure` wrote it."""
    try:
        check_regular(path, f"measurement {path}")
        # mapped first: a header that claims more than the file holds is refused instead of allocated
        array = np.lib.format.open_memmap(path, mode="r")
    except FileNotFoundError:
        raise InputError(f"measurement {path}: there is no such file.") from None
    except InputError:
        raise
    except Exception:  # numpy evaluates a header's text, and a damaged one can raise anything
        raise InputError(f"measurement {path}: it is not a .npy file of numbers.") from None
    if array.shape != shape or not np.issubdtype(array.dtype, np.floating):
        raise InputError(f"measurement {path}: it is {array.dtype}{array.shape} and must be float32{shape}.")
    if not np.isfinite(array).all():
        raise InputError(f"measurement {path}: it holds NaN or infinite values; every value must be finite.")
    return torch.from_numpy(np.array(array, dtype=np.float32))
