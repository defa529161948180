"""The measurements of a manifest that take part in a sweep."""

import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from operators import InputError, find_signal
from pipelines.manifest import Manifest
from pipelines.plan.sweep_spec import Selection, SweepSpec

_COLUMNS = ("id", "digest", "seed", "task")


def _kind(operator: str, name: str, x_shape: Sequence[int], y_shape: Sequence[int]) -> str:
    """Rows of one kind can share a batch; one of a signal that nobody knows fails alone, when its turn comes."""
    try:
        signal = find_signal(name)
    except InputError:
        return f"{operator}/{name}/{list(x_shape)}/{list(y_shape)}"
    return f"{operator}/{list(signal.batch_shape(x_shape))}/{list(signal.batch_shape(y_shape))}"


def select_places(spec: SweepSpec, manifest: Manifest) -> pa.Table:
    """Measurements in the manifest's order, without pixels: id, digest, seed, task, shard, row and kind.

    Those of one kind have the same operator and shapes, and can be solved in one batch.
    """
    unknown = sorted(set(spec.select.tasks or ()) - set(manifest.tasks))
    if unknown:
        raise InputError(
            f"select.tasks: {', '.join(unknown)} is not in the manifest, which has {', '.join(manifest.tasks)}."
        )
    batches = [_places(rows) for rows in selected(manifest.index(), spec.select, spec.select.tasks or manifest.tasks)]
    if not batches:
        raise InputError(f"manifest {spec.manifest}: it has no measurements for this selection.")
    return pa.Table.from_batches(batches).combine_chunks()


def selected(batches: Iterable[pa.RecordBatch], select: Selection, tasks: Iterable[str]) -> Iterator[pa.RecordBatch]:
    """The rows of a manifest's index that take part: of every task, after `skip` of them, `limit`."""
    taken, limit = dict.fromkeys(tasks, 0), select.limit or math.inf
    for batch in batches:
        chosen = np.zeros(batch.num_rows, dtype=bool)
        names = np.array(batch["task"].to_pylist(), dtype=object)
        for task in taken.keys() & set(names):
            rows = np.flatnonzero(names == task)
            numbers = taken[task] + np.arange(len(rows))
            chosen[rows] = (select.skip <= numbers) & (numbers < select.skip + limit)
            taken[task] += len(rows)
        if chosen.any():
            yield batch.filter(pa.array(chosen))


def _places(rows: pa.RecordBatch) -> pa.RecordBatch:
    facts = zip(*(rows[name].to_pylist() for name in ("operator", "signal", "x_shape", "y_shape")), strict=True)
    kinds = [_kind(*row) for row in facts]
    return rows.select([*_COLUMNS, "shard", "row"]).append_column("kind", pa.array(kinds, pa.string()))
