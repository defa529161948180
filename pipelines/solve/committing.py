"""What is stored of a solved shard: every row with its result or its error, written whole."""

import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from g2d2.methods import Solution
from operators import find_signal
from pipelines.plan.sweep_spec import Kept
from pipelines.schemas import SOLVED_SCHEMA
from pipelines.solve.preparing import Row
from pipelines.storage.sweep_folder import SweepFolder

_CARRIED = SOLVED_SCHEMA.names[: SOLVED_SCHEMA.names.index("error")]


class SolvedShard:
    """The rows of a shard on their way into the store."""

    def __init__(self, folder: SweepFolder, shard: str, items: Iterable[Mapping[str, Any]], keep: Kept):
        self.folder, self.shard, self.keep = folder, shard, keep
        self.records = [dict.fromkeys(SOLVED_SCHEMA.names) | {name: item[name] for name in _CARRIED} for item in items]

    def fail(self, position: int, error: str) -> None:
        """Store the reason instead of a result."""
        self.records[position]["error"] = error

    def failed(self, position: int) -> bool:
        return self.records[position]["error"] is not None

    @property
    def failures(self) -> int:
        """Rows that carry an error."""
        return sum(record["error"] is not None for record in self.records)

    def add(self, rows: Sequence[Row], solution: Solution, solved_on: Mapping[str, Any]) -> None:
        """Store what a batch gave, each row in its signal's own form."""
        for index, row in enumerate(rows):
            record, signal = self.records[row.position], find_signal(row.signal)
            record |= {**solution.costs(index), "peak_bytes": solution.peak_bytes, **solved_on, "batch_rows": len(rows)}
            own = slice(row.operator.x_shape[0] if signal.ragged else None)  # what is beyond its length is padding
            x = solution.x[index][own].float()
            fault = solution.fault(index)
            if fault is not None:
                self.fail(row.position, fault)
                continue
            record["x"] = signal.encode(x)
            record["floats"] = x.flatten().numpy() if self.keep.floats else None
            record["trace"] = trace_bytes(solution.record(index, own)) if self.keep.traces else None

    def commit(self) -> None:
        """Write the shard; until then nothing of it is there."""
        table = pa.Table.from_pylist(self.records, schema=SOLVED_SCHEMA)
        self.folder.store.write_table(self.folder.solved_name(self.shard), table)


def trace_bytes(arrays: Mapping[str, Any]) -> bytes:
    """A row's curves and snapshots as a compressed `.npz`."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()
