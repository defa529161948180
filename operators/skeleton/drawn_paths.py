"""Paths that a person draws: a named shape, or a CSV of x and z in metres, walked at an even pace."""

import csv
import math
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from operators.errors import InputError
from operators.skeleton.joint_names import FPS, LONGEST
from operators.validation import did_you_mean, shorten

Array = NDArray[np.float64]

WALK = 0.8
"""Metres per second at which a shape is walked; its size follows from that and the clip's length."""
FASTEST = 12.0
"""Metres per second that nobody outruns."""
HIGHEST = 3.0
"""Metres above the floor that no joint of a person on it gets."""

_TURN = 2 * math.pi


def _circle(s: Array) -> Array:
    return np.stack([1 - np.cos(_TURN * s), np.sin(_TURN * s)], axis=-1)


def _s(s: Array) -> Array:
    """Two half circles, the first to the left and the second to the right."""
    bend = _TURN * s
    return np.stack([np.where(s < 0.5, 1 - np.cos(bend), 3 + np.cos(bend)), np.sin(bend)], axis=-1)


def _figure_eight(s: Array) -> Array:
    return np.stack([np.sin(2 * _TURN * s) / 2, np.sin(_TURN * s)], axis=-1)


def _square(s: Array) -> Array:
    corners = np.array([[0, 0], [0, 1], [1, 1], [1, 0], [0, 0]], dtype=np.float64)
    return np.stack([np.interp(4 * s, range(5), corners[:, axis]) for axis in (0, 1)], axis=-1)


def _line(s: Array) -> Array:
    return np.stack([0 * s, s], axis=-1)


SHAPES = {"circle": _circle, "s": _s, "figure-eight": _figure_eight, "square": _square, "line": _line}


def packaged_paths() -> dict[str, str]:
    """Texts of the CSV files that come with the package, by name."""
    folder = files("operators.skeleton").joinpath("drawn")
    texts = {one.name: one for one in folder.iterdir() if one.name.endswith(".csv")}
    return {name.removesuffix(".csv"): texts[name].read_text() for name in sorted(texts)}


def packaged_prompts() -> list[str]:
    """Prompts that come with the package."""
    text = files("operators.skeleton").joinpath("drawn", "prompts.txt").read_text()
    return [line.strip() for line in text.splitlines() if line.strip()]


def path_names() -> list[str]:
    """Every path that can be named."""
    return [*SHAPES, *packaged_paths()]


def named_path(name: str, frames: int) -> Array:
    """A shape or a packaged path in every frame of a clip. (frames, 2)"""
    if name in SHAPES:
        fine = SHAPES[name](np.linspace(0, 1, 4001))
        length = np.linalg.norm(np.diff(fine, axis=0), axis=1).sum()
        return placed_path(fine * (WALK * (frames - 1) / FPS / length), frames)
    texts = packaged_paths()
    if name not in texts:
        known = path_names()
        raise InputError(
            f"path: {shorten(name)} is unknown{did_you_mean(name, known)}; it must be one of {', '.join(known)}, or a "
            ".csv file of x and z."
        )
    return drawn_path(texts[name], name, frames)[0]


def path_text(content: bytes, name: str) -> str:
    """A CSV file's text; an InputError where it is none in UTF-8."""
    refusal = InputError(f"{name}: it is no text in UTF-8; save it as a CSV in that encoding.")
    if b"\0" in content:  # UTF-16 is full of them, and without a mark at its start it may decode all the same
        raise refusal
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise refusal from None


def drawn_path(text: str, name: str, frames: int) -> tuple[Array, Array | None]:
    """A CSV with the columns x and z, and y for heights where it has them, in every frame of a clip.

    Places (frames, 2) on the floor and heights (frames,).
    """
    table = _table(text, name)
    points = np.stack([table["x"], table["z"]], axis=-1)
    if len(points) < 2 or not np.ptp(points, axis=0).any():
        raise InputError(f"{name}: a path needs at least two different points.")
    path, heights = placed_path(points, frames), None
    if "y" in table:
        heights = np.interp(np.linspace(0, 1, frames), _shares(points), table["y"])
        if heights.min() < 0 or heights.max() > HIGHEST:
            worst = heights.min() if heights.min() < 0 else heights.max()
            raise InputError(
                f"{name}: its path leaves the floor, with a height of {worst:.3g} m: y must be from 0 to {HIGHEST:g} m."
            )
    speed = np.linalg.norm(np.diff(path, axis=0), axis=1).max() * FPS
    if speed > FASTEST:
        raise InputError(
            f"{name}: its path takes {speed:.3g} m/s in {frames} frames: at most {FASTEST:g} m/s can be run; give more "
            f"frames, of which a clip has {LONGEST} at most, or a shorter path."
        )
    return path, heights


def placed_path(points: Array, frames: int) -> Array:
    """Points in even steps along their line, moved to the origin and turned so that the first step is along +z.

    Every clip begins there and so: the body stands at the origin and faces +z.
    """
    where, shares = np.linspace(0, 1, frames), _shares(points)
    path = np.stack([np.interp(where, shares, points[:, axis]) for axis in (0, 1)], axis=-1)
    path -= path[0]
    ahead = path[max(1, frames // 50)]
    angle = math.atan2(ahead[0], ahead[1])
    cosine, sine = math.cos(angle), math.sin(angle)
    turned: Array = np.stack([cosine * path[:, 0] - sine * path[:, 1], sine * path[:, 0] + cosine * path[:, 1]], -1)
    return turned


def _shares(points: Array) -> Array:
    """How much of a line's length lies before each of its points, from 0 to 1."""
    lengths = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
    shares: Array = lengths / lengths[-1]
    return shares


def _number(row: list[str], place: int, point: str, column: str) -> float:
    field = row[place] if place < len(row) else ""
    try:
        return float(field)
    except ValueError:
        raise InputError(f"{point}: its {column} is {field!r}, which is no number.") from None


def _table(text: str, name: str) -> dict[str, Array]:
    try:
        lines = [row for row in csv.reader(text.splitlines()) if any(field.strip() for field in row)]
    except csv.Error as error:
        raise InputError(f"{name}: it cannot be read as CSV: {error}.") from None
    header = [field.strip().lower() for field in lines[0]] if lines else []
    if not {"x", "z"} <= set(header):
        names = ", ".join(header) or "none"
        raise InputError(
            f"{name}: its columns are {names}: the first line names x and z, and may name y, with commas between."
        )
    table: dict[str, Array] = {}
    for column in {"x", "y", "z"} & set(header):
        place = header.index(column)
        table[column] = np.array(
            [_number(row, place, f"{name}: point {n}", column) for n, row in enumerate(lines[1:], 1)]
        )
        if not np.isfinite(table[column]).all():
            raise InputError(f"{name}: its column {column} has NaN or infinite values: every one must be finite.")
    return table
