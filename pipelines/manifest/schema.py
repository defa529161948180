"""What a manifest's row holds, and the digests that say when two rows or two manifests are the same."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from operators import InputError
from pipelines.schemas import MANIFEST_SCHEMA

FORMAT_VERSION = 2
"""Raised when a reader of the old schema would misread the new one."""

SCHEMA = MANIFEST_SCHEMA
LIGHT_COLUMNS = tuple(name for name in SCHEMA.names if name not in ("truth", "y", "label"))
"""All a plan needs: thousands of rows fit in a few megabytes."""

LONGEST_ID = 200
_ALLOWED = "A-Za-z0-9._/@:+=-"
_DIGEST_BYTES = 16

IMAGE = "image"
"""The signal of every measurement that was hashed before there were others."""


@dataclass(frozen=True)
class Row:
    """One measurement, before it is written."""

    source: str
    task: str
    truth: bytes | None
    y: npt.NDArray[np.float32]
    x_shape: tuple[int, ...]
    operator: str
    operator_params: str
    sigma: float
    prompt: str
    label: str | None
    seed: int
    signal: str = IMAGE

    @property
    def id(self) -> str:
        return row_id(self.task, self.source)


def row_id(task: str, source: str) -> str:
    """The name of a measurement: one source image may appear under several tasks."""
    return f"{task}/{source}"


def safe_id(text: str) -> str:
    """`text` with every character that ids do not allow as =XX, the hexadecimal of its UTF-8 bytes."""
    text = text.strip("/").replace("..", "=2E=2E")
    return re.sub(
        f"[^{_ALLOWED}]",
        lambda match: "".join(f"={byte:02X}" for byte in match[0].encode("utf-8", "surrogateescape")),
        text,
    )


def id_problem(text: str) -> str | None:
    """Why `text` cannot be an id; None if it can."""
    if not re.fullmatch(f"[{_ALLOWED}]+", text) or ".." in text:
        return "it may only hold letters, digits and . _ / @ : + = -, without '..'"
    if len(text) > LONGEST_ID:
        return f"it has {len(text)} characters and may have {LONGEST_ID}"
    return None


def canonical_json(values: Mapping[str, Any]) -> str:
    """One text for equal values."""
    return json.dumps(values, sort_keys=True, separators=(",", ":"), allow_nan=False)


def row_digest(row: Mapping[str, Any]) -> str:
    """Over everything that decides a result; `y` is an array, the rest as the schema says. Names do not count."""
    y = np.ascontiguousarray(row["y"], dtype="<f4")
    shapes = [[int(side) for side in row[name]] for name in ("y_shape", "x_shape")]
    facts = [
        shapes,
        row["operator"],
        row["operator_params"],
        float(row["sigma"]).hex(),
        row["prompt"],
        int(row["seed"]),
        *([] if row["signal"] == IMAGE else [row["signal"]]),
    ]
    truth = b"" if row["truth"] is None else row["truth"]
    return _hash([y.tobytes(), json.dumps(facts).encode(), truth])


def stored_y(row: Mapping[str, Any]) -> np.ndarray[Any, np.dtype[np.float32]]:
    """The values of y in one line; a missing one is NaN."""
    values = row["y"].values.to_numpy(zero_copy_only=False) if isinstance(row["y"], pa.ListScalar) else row["y"]
    return np.asarray(values, dtype=np.float32)


def content_digest(row: Mapping[str, Any]) -> str:
    """The digest of what a row holds now; that of no row where it holds what no row may."""
    try:
        return row_digest({**row, "y": stored_y(row)})
    except (TypeError, ValueError, OverflowError, AttributeError):
        return ""


def check_content(row: Mapping[str, Any], digest: str, planned: str) -> None:
    """Raise an InputError unless a row's content has the digest by which it was planned."""
    if digest != planned:
        name = row.get("id", "the measurement")
        raise InputError(
            f"{name}: its content is not what its digest {planned[:12]} says, so it was changed after it was "
            "built; build the manifest again."
        )


def manifest_digest(ids: pa.ChunkedArray, digests: pa.ChunkedArray) -> str:
    """Over the rows' digests in the order of their ids, so that shards and row order do not count."""
    ordered = digests.take(pc.sort_indices(ids))
    return _hash(digest.encode() for digest in ordered.to_pylist())


def to_batch(rows: list[Row]) -> pa.RecordBatch:
    """Rows as the schema wants them, each with its id and digest."""
    columns: dict[str, Any] = {
        name: [getattr(row, name) for row in rows] for name in SCHEMA.names if name not in ("y", "y_shape", "digest")
    }
    columns["y_shape"] = [row.y.shape for row in rows]
    columns["digest"] = [row_digest({**vars(row), "y_shape": row.y.shape}) for row in rows]
    ends = np.cumsum([0, *(row.y.size for row in rows)], dtype=np.int32)
    values = pa.array(np.concatenate([row.y.ravel() for row in rows]), pa.float32())
    columns["y"] = pa.ListArray.from_arrays(pa.array(ends), values)
    return pa.record_batch(
        [pa.array(columns[f.name], f.type) if f.name != "y" else columns["y"] for f in SCHEMA], SCHEMA
    )


def _hash(parts: Iterable[bytes]) -> str:
    """Each part is preceded by its length: no two lists of parts run together into the same bytes."""
    digest = blake2b(digest_size=_DIGEST_BYTES)
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()
