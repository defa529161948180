"""The measurements of a manifest that take part in a sweep."""

import math

import numpy as np
import pyarrow as pa

from operators import InputError
from pipelines.manifest import Manifest
from pipelines.spec import SweepSpec

_COLUMNS = ("id", "digest", "seed", "task")


def select_places(spec: SweepSpec, manifest: Manifest) -> pa.Table:
    """Measurements in the manifest's order, without pixels: id, digest, seed, task, shard, row and kind.

    Those of one kind have the same operator and shapes, and can be solved in one batch.
    """
    unknown = sorted(set(spec.select.tasks or ()) - set(manifest.tasks))
    if unknown:
        raise InputError(
            f"select.tasks: {', '.join(unknown)} is not in the manifest, which has {', '.join(manifest.tasks)}."
        )
    taken = dict.fromkeys(spec.select.tasks or manifest.tasks, 0)
    skip, limit = spec.select.skip, spec.select.limit or math.inf
    batches: list[pa.RecordBatch] = []
    for batch in manifest.index():
        chosen = np.zeros(batch.num_rows, dtype=bool)
        tasks = np.array(batch["task"].to_pylist(), dtype=object)
        for task in taken.keys() & set(tasks):
            rows = np.flatnonzero(tasks == task)
            numbers = taken[task] + np.arange(len(rows))
            chosen[rows] = (skip <= numbers) & (numbers < skip + limit)
            taken[task] += len(rows)
        if chosen.any():
            batches.append(_places(batch.filter(pa.array(chosen))))
    if not batches:
        raise InputError(f"manifest {spec.manifest}: it has no measurements for this selection.")
    return pa.Table.from_batches(batches).combine_chunks()


def _places(rows: pa.RecordBatch) -> pa.RecordBatch:
    shapes = (rows[name].to_pylist() for name in ("operator", "image_shape", "y_shape"))
    kinds = [f"{operator}/{image}/{y}" for operator, image, y in zip(*shapes, strict=True)]
    return rows.select([*_COLUMNS, "shard", "row"]).append_column("kind", pa.array(kinds, pa.string()))
