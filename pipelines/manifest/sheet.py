"""A contact sheet of measurements: each truth above what was measured of it."""

import io
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from PIL import Image, ImageDraw, ImageFont
from torch import Tensor

from operators import InputError
from pipelines.manifest.stored_rows import decode_truth, measurement, row_signal

SIDE = 160
"""Pixels of a picture's longer side."""

GAP = 8
_CAPTION_LINES = 2
_LINE = 13


def contact_sheet(rows: Sequence[Mapping[str, Any]], problems: list[InputError], columns: int = 8) -> Image.Image:
    """A grid of cells, `columns` in a line; pixels stay sharp, so that what is missing can be seen.

    What of a row cannot be shown goes to `problems` and leaves its place empty.
    """
    across = min(columns, len(rows))
    down = -(-len(rows) // across)
    width, height = SIDE + GAP, 2 * SIDE + 2 * GAP + _CAPTION_LINES * _LINE
    sheet = Image.new("RGB", (across * width + GAP, down * (height + GAP) + GAP), "white")
    for number, row in enumerate(rows):
        left, top = GAP + number % across * width, GAP + number // across * (height + GAP)
        truth = None if row["truth"] is None else _read(decode_truth, row, problems)
        _paste(sheet, truth, left, top)
        _paste(sheet, _read(measurement, row, problems), left, top + SIDE + GAP)
        _caption(sheet, (row["task"], row["source"]), left, top + 2 * SIDE + GAP + 4)
    return sheet


def _read(
    part: Callable[[Mapping[str, Any]], Tensor], row: Mapping[str, Any], problems: list[InputError]
) -> Image.Image | None:
    """A part of a row as its signal shows it."""
    try:
        signal, shown = row_signal(row), part(row)
        content = (signal.preview_measurement(shown) if part is measurement else None) or signal.preview(shown)
        return Image.open(io.BytesIO(content)).convert("RGB")
    except InputError as error:
        problems.append(error)
    except (ValueError, TypeError, IndexError, RuntimeError, OSError) as error:  # a measurement may be no picture
        reason = " ".join(str(error).split())
        problems.append(InputError(f"{row['id']}: its signal {row['signal']!r} has no preview of this ({reason})."))
    return None


def _paste(sheet: Image.Image, picture: Image.Image | None, left: int, top: int) -> None:
    """In the middle of its square; a row without truth keeps an empty one."""
    if picture is None:
        ImageDraw.Draw(sheet).rectangle((left, top, left + SIDE - 1, top + SIDE - 1), outline="lightgrey")
        return
    scale = SIDE / max(picture.size)
    size = (max(1, round(picture.width * scale)), max(1, round(picture.height * scale)))
    picture = picture.resize(size, Image.Resampling.NEAREST if scale > 1 else Image.Resampling.LANCZOS)
    sheet.paste(picture, (left + (SIDE - size[0]) // 2, top + (SIDE - size[1]) // 2))


def _caption(sheet: Image.Image, lines: Sequence[str], left: int, top: int) -> None:
    draw, font = ImageDraw.Draw(sheet), ImageFont.load_default(size=11)
    for number, line in enumerate(lines):
        text = " ".join(line.split())  # a name may hold a line's end, which has no length
        while draw.textlength(text, font=font) > SIDE:
            text = text.removesuffix("...")[:-1] + "..."
        draw.text((left, top + number * _LINE), text, fill="black", font=font)
