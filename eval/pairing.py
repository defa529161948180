"""Two collections of pictures, paired by name: single files, folders or Parquet files."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from operators import InputError
from operators.plurals import counted

PICTURES = frozenset((".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".ppm", ".pgm"))
"""Endings of the files of a folder that are looked at."""

TRUTH_COLUMNS = ("image", "reconstruction")
RECONSTRUCTION_COLUMNS = ("reconstruction", "image")
"""Parquet columns that may hold the encoded pictures; the first that is there is read."""

PANEL = "-panel"
"""Ends the names of panels that `g2d2 solve` writes beside its reconstructions; they are none."""

Read = Callable[[], bytes | None]
"""The encoded picture, or None where a table has an empty cell."""


@dataclass(frozen=True)
class Pair:
    """A ground truth and its reconstruction, still encoded."""

    id: str
    truth: Read
    reconstruction: Read


@dataclass(frozen=True)
class Pairing:
    """What belongs together, sorted by name, and what is left alone."""

    pairs: tuple[Pair, ...]
    only_truth: tuple[str, ...]
    only_reconstruction: tuple[str, ...]


def pair_pictures(truth: Path, reconstruction: Path) -> Pairing:
    """Two picture files are a pair whatever their names; otherwise file stems and Parquet ids must be equal."""
    if _is_picture(truth) != _is_picture(reconstruction):
        raise InputError(
            f"truth is {truth} and reconstruction {reconstruction}: "
            "they must be two pictures, or two folders or Parquet files."
        )
    if _is_picture(truth):
        pair = Pair(reconstruction.stem, truth.read_bytes, reconstruction.read_bytes)
        return Pairing((pair,), (), ())
    truths, others = _collection(truth, TRUTH_COLUMNS), _collection(reconstruction, RECONSTRUCTION_COLUMNS)
    both = sorted(truths.keys() & others.keys())
    if not both:
        raise InputError(
            f"truth {truth} has {counted(len(truths), 'picture')} and reconstruction {reconstruction} {len(others)}: "
            "no name is in both, and pictures are paired by name."
        )
    return Pairing(
        tuple(Pair(name, truths[name], others[name]) for name in both),
        tuple(sorted(truths.keys() - others.keys())),
        tuple(sorted(name for name in others.keys() - truths.keys() if name.removesuffix(PANEL) not in both)),
    )


def _is_picture(path: Path) -> bool:
    if not path.exists():
        raise InputError(f"{path}: there is no such file or folder.")
    if not (path.is_file() or path.is_dir()):
        raise InputError(f"{path}: it is a pipe or device and must be a file or folder.")
    return path.is_file() and path.suffix.lower() != ".parquet"


def _collection(path: Path, columns: Sequence[str]) -> Mapping[str, Read]:
    return _folder(path) if path.is_dir() else _parquet(path, columns)


def _folder(folder: Path) -> dict[str, Read]:
    found: dict[str, Path] = {}
    for path in sorted(folder.iterdir()):
        if not path.is_file() or path.suffix.lower() not in PICTURES or path.name.startswith("."):
            continue
        if path.stem in found:
            raise InputError(f"{folder}: {found[path.stem].name} and {path.name} have the same stem; rename one.")
        found[path.stem] = path
    return {stem: path.read_bytes for stem, path in found.items()}


def _parquet(path: Path, columns: Sequence[str]) -> dict[str, Read]:
    try:
        file = pq.ParquetFile(path, pre_buffer=False)
        names = file.schema_arrow.names
        column = next((name for name in columns if name in names), None)
        if "id" not in names or column is None:
            raise InputError(
                f"{path}: its columns are {', '.join(names)}: it must have id and one of {', '.join(columns)}."
            )
        table = file.read(columns=["id", column], use_threads=False)
    except pa.ArrowInvalid:
        raise InputError(f"{path}: it cannot be read as Parquet.") from None
    kind = table.schema.field(column).type
    if not (pa.types.is_binary(kind) or pa.types.is_large_binary(kind)):
        raise InputError(f"{path}: column {column} is {kind}: it must hold encoded pictures as binary.")
    found: dict[str, Read] = {}
    for row, name in enumerate(table["id"].to_pylist()):
        if str(name) in found:
            raise InputError(f"{path}: id {str(name)!r} is there twice; ids must be unique.")
        found[str(name)] = partial(_cell, table[column], row)
    return found


def _cell(column: pa.ChunkedArray, row: int) -> bytes | None:
    content: bytes | None = column[row].as_py()
    return content
