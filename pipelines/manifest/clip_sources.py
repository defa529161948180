"""Where clips come from: HumanML3D folders, BVH files, arrays, and Parquet of joints."""

import io
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import PurePosixPath
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from torch import Tensor

from operators import InputError
from operators.skeleton.bvh import read_bvh
from operators.skeleton.clip_features import clip_features
from operators.skeleton.joint_names import FPS, JOINTS
from operators.skeleton.resampling import at_20_fps
from operators.skeleton.upright import check_upright
from operators.validation import shorten
from pipelines.manifest.measurement_files import MEASURED
from pipelines.manifest.motion_build_settings import MotionSettings
from pipelines.manifest.parquet_source import open_parquet
from pipelines.manifest.prompts import Fields
from pipelines.manifest.schema import safe_id
from pipelines.storage import Store, StoreError, open_store

VECTORS, TEXTS = "new_joint_vecs/", "texts/"
_ROWS_AT_ONCE = 16


@dataclass(frozen=True)
class Clip:
    """One recording, not read yet."""

    id: str
    name: str
    """As the user knows it."""
    fields: Fields
    read: Callable[[], Tensor]
    """Features (F, 263); an InputError says why there are none, which does not stop the others."""


@dataclass(frozen=True)
class Clips:
    """Recordings in a fixed order, streamed once."""

    count: int
    columns: tuple[str, ...]
    """What prompts may refer to."""
    clips: Iterable[Clip]


def open_clips(settings: MotionSettings) -> Clips:
    """The clips that `settings.source` means; an InputError if there are none."""
    url = settings.source
    name = url.rstrip("/").rpartition("/")[2]
    if url.lower().endswith(".parquet"):
        found = _parquet(_parent(url), [name])
    elif _ending(url) in _READERS and (store := _parent(url)).exists(name):
        found = Clips(1, (), [_single(store, name, settings.fps)])
    else:
        found = _folder(open_store(url), settings)
    if not found.count:
        raise InputError(
            f"source: {url} is missing or without clips; it must be a HumanML3D folder, a folder of .bvh, .npy or "
            "Parquet files, one such file, a .csv of x and z, or the name of a path."
        )
    return found


def read_clip(path: str, fps: float | None = None) -> Tensor:
    """Features of one .npy or .bvh file."""
    if _ending(path) not in _READERS:
        raise InputError(f"clip {path}: a clip is a {' or '.join(_READERS)} file.")
    return _READERS[_ending(path)](_parent(path), PurePosixPath(path).name, fps)


def _parent(url: str) -> Store:
    """The folder that a file is in."""
    folder = url.rstrip("/").rpartition("/")[0]
    return open_store(folder or ("/" if url.startswith("/") else "."))


def _ending(name: str) -> str:
    return PurePosixPath(name).suffix.lower()


def _single(store: Store, name: str, fps: float | None) -> Clip:
    return Clip(_clip_id(name), name, {"label": None}, partial(_READERS[_ending(name)], store, name, fps))


def _folder(store: Store, settings: MotionSettings) -> Clips:
    names = [name for name in store.list() if not any(part.startswith((".", "_")) for part in name.split("/"))]
    names = [name for name in names if not name.endswith(f"{MEASURED}.npy")]  # `solve` puts them beside its motions
    if any(name.startswith(VECTORS) for name in names):
        return _humanml3d(store, set(names), settings.split)
    if settings.split is not None:
        raise InputError(f"split: {store.url()} is no HumanML3D folder, which would have {VECTORS}.")
    kinds = {ending: [name for name in names if name.lower().endswith(ending)] for ending in _READERS}
    tables = [name for name in names if name.lower().endswith(".parquet")]
    if sum(map(bool, (*kinds.values(), tables))) > 1:
        raise InputError(f"source: {store.url()} holds clips of several kinds; give the folder or file of one kind.")
    if tables:
        return _parquet(store, tables)
    ending = next((one for one, found in kinds.items() if found), ".bvh")
    return Clips(len(kinds[ending]), (), (_single(store, name, settings.fps) for name in kinds[ending]))


def _humanml3d(store: Store, names: set[str], split: str | None) -> Clips:
    """Clips with their first caption; one of a part of the clip cuts that part out, as published loaders do."""
    chosen = sorted(name for name in names if name.startswith(VECTORS) and name.endswith(".npy"))
    if split is not None:
        if f"{split}.txt" not in names:
            raise InputError(f"split: {store.url()} has no {split}.txt.")
        listed = set(store.read_bytes(f"{split}.txt").decode("utf-8", "replace").split())
        chosen = [name for name in chosen if PurePosixPath(name).stem in listed]
    return Clips(len(chosen), ("caption",), (_captioned(store, name, names) for name in chosen))


def _captioned(store: Store, name: str, names: set[str]) -> Clip:
    stem = PurePosixPath(name).stem
    text = f"{TEXTS}{stem}.txt"
    lines = store.read_bytes(text).decode("utf-8", "replace").splitlines() if text in names else []
    captions = [parsed for line in lines if (parsed := _caption(line)) is not None]
    whole = [one for one in captions if one[1] == one[2] == 0.0]
    caption, start, end = (whole or captions or [("", 0.0, 0.0)])[0]
    read = partial(_part, partial(_read_npy, store, name, None), start, end)
    return Clip(safe_id(stem), stem, {"caption": caption, "label": None}, read)


def _caption(line: str) -> tuple[str, float, float] | None:
    """Text, start and end in seconds of a line `text#words#start#end`; None where it has none."""
    parts = line.strip().split("#")
    try:
        start, end = (float(part) for part in parts[2:4])
    except ValueError:
        start = end = 0.0
    if np.isnan(start) or np.isnan(end):
        start = end = 0.0
    return (parts[0], start, end) if parts[0] else None


def _part(read: Callable[[], Tensor], start: float, end: float) -> Tensor:
    clip = read()
    return clip if start == end == 0 else clip[int(start * FPS) : int(end * FPS)]


def _read_npy(store: Store, name: str, fps: float | None) -> Tensor:
    what = f"clip {name}"
    try:
        array: NDArray[Any] = np.lib.format.read_array(io.BytesIO(_content(store, name)), allow_pickle=False)
    except (ValueError, EOFError, OSError):
        raise InputError(f"{what}: it cannot be read as a NumPy array of numbers.") from None
    if array.shape[1:] == (len(JOINTS), 3) and np.issubdtype(array.dtype, np.floating):
        check_upright(array, what)
        array = array if fps is None else at_20_fps(array.astype(np.float64), fps, what)  # an array says no rate
    return clip_features(array, what)


def _read_bvh(store: Store, name: str, fps: float | None) -> Tensor:
    what = f"clip {name}"
    file = read_bvh(_content(store, name).decode("utf-8", "replace"), what).without_rest_pose()
    rate = fps or (None if file.frame_time is None else 1 / file.frame_time)
    body = at_20_fps(file.body(what), rate, what)
    check_upright(body, what)
    return clip_features(body, what)


_READERS: dict[str, Callable[[Store, str, float | None], Tensor]] = {".bvh": _read_bvh, ".npy": _read_npy}


def _content(store: Store, name: str) -> bytes:
    try:
        return store.read_bytes(name)
    except StoreError as error:
        raise InputError(f"clip {name}: it cannot be read ({error}).") from None


def _parquet(store: Store, names: list[str]) -> Clips:
    """Rows with `clip` and `joints`: int16 differences in time of half-millimetres, 22 joints, 20 frames a second."""
    tables = [open_parquet(store, store.filesystem, name) for name in names]
    for name, table in zip(names, tables, strict=True):
        missing = {"clip", "joints"} - set(table.schema.names)
        if missing or not pa.types.is_binary(table.schema.field("joints").type):
            raise InputError(
                f"source: {store.url(name)} is no Parquet of joints: it needs a column clip and a binary column joints."
            )
    columns = tuple(name for name in tables[0].schema.names if name != "joints")
    return Clips(sum(table.metadata.num_rows for table in tables), columns, _parquet_clips(tables, columns))


def _parquet_clips(tables: list[Any], columns: tuple[str, ...]) -> Iterator[Clip]:
    for table in tables:
        for batch in table.batches([*columns, "joints"], _ROWS_AT_ONCE):
            for row in batch.to_pylist():
                fields = {name: None if row[name] in (None, "") else str(row[name]).strip() for name in columns}
                name = fields["clip"] or ""
                yield Clip(safe_id(name), name, {"label": None} | fields, partial(_joints, row["joints"], name))


def _joints(content: bytes | None, name: str) -> Tensor:
    what, size = f"clip {name}", 2 * 3 * len(JOINTS)
    if not content or len(content) % size:
        raise InputError(f"{what}: its {len(content or b'')} bytes of joints are not whole frames of {size}.")
    steps = np.frombuffer(content, "<i2").reshape(-1, len(JOINTS), 3)
    return clip_features(np.cumsum(steps, axis=0, dtype=np.int16) / 2000, what)


def _clip_id(name: str) -> str:
    stem = safe_id(str(PurePosixPath(name).with_suffix("")))
    if not stem:
        raise InputError(f"clip {shorten(name)}: its name is empty.")
    return stem
