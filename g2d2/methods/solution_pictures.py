"""A solution as people look at it: its rows as pictures, with the way there where snapshots were kept."""

import io
from collections.abc import Iterator
from typing import TYPE_CHECKING

from markupsafe import Markup
from PIL import Image
from torch import Tensor

from operators.figure_html import Figure, figures_html
from operators.pictures import encode_png, spread_map, strip, to_picture
from operators.plurals import counted
from operators.signals import find_signal

if TYPE_CHECKING:
    from g2d2.methods.recording import Solution

ROWS = 32
"""Rows that are shown; the others are counted."""


def solution_html(solution: "Solution") -> Markup:
    """Every row below what all of them took."""
    left = len(solution.x) - ROWS
    more = f"; {counted(left, 'row')} more" if left > 0 else ""
    words = (
        f"{counted(len(solution.x), 'row')} in {solution.seconds:.3g} s, {solution.peak_bytes / 2**30:.2f} GiB{more}"
    )
    figures = [figure for row in range(min(ROWS, len(solution.x))) for figure in _row(solution, row)]
    return Markup("<p>{}</p>{}").format(words, figures_html(figures))


def solution_png(solution: "Solution") -> bytes:
    """The rows side by side, as pictures of one height."""
    previews = [_preview(solution, x) for x in solution.x[:ROWS]]
    return encode_png(strip([Image.open(io.BytesIO(png)).convert("RGB") for png in previews], 128))


def _row(solution: "Solution", row: int) -> Iterator[Figure]:
    for step, batch in sorted(solution.snapshots.items(), reverse=True):
        yield Figure(_preview(solution, batch[row]), [f"row {row}, t = {step}"])
    fault = solution.fault(row)
    if fault is None:
        yield Figure(_preview(solution, solution.x[row]), [f"row {row}"])
        if solution.spread is not None and solution.signal == "image":
            shown = encode_png(to_picture(spread_map(solution.spread[row])))
            yield Figure(shown, [f"row {row}, spread", "white where the samples differ most"])
    else:
        yield Figure(_preview(solution, solution.x[row].nan_to_num(0.0)), [f"row {row}", fault])


def _preview(solution: "Solution", x: Tensor) -> bytes:
    signal = find_signal(solution.signal)
    if signal.ragged:  # what pads a short row is no part of it
        there = x.flatten(1).any(dim=1).nonzero()
        x = x[: int(there[-1]) + 1] if len(there) else x[:1]
    return signal.preview(x)
