"""Truths, measurements and reconstructions of a sweep as they are stored, for whoever shows some of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from torch import Tensor

from operators import InputError, find_signal
from pipelines.manifest import Manifest, decode_truth, measurement, row_signal
from pipelines.score.stored_sweep import StoredSweep

_COLUMNS = ["item", "shard", "measurement", "measurement_digest", "manifest_shard", "manifest_row", "cell", "seed"]

Planned = dict[str, Any]
"""A row of the plan."""


@dataclass(frozen=True)
class Picture:
    """Something stored, and a PNG of it."""

    values: Tensor
    png: bytes


@dataclass(frozen=True)
class Measured:
    """What a measurement was made of; None where there is nothing to see."""

    truth: Picture | None
    y: Picture | None


class StoredSignals:
    """Reads only the shards in which something to show lies."""

    def __init__(self, sweep: StoredSweep, shards_kept: int = 16):
        self.sweep = sweep
        self._shard = lru_cache(maxsize=shards_kept)(self._read_shard)

    def planned(self, name: str, cells: Sequence[str], seed: int) -> dict[str, Planned]:
        """The work items of a measurement by cell."""
        plan = self.sweep.plan.rows.where(measurement=[name], seed=[seed], cell=cells)
        return {row["cell"]: row for row in plan.select(_COLUMNS).to_pylist()}

    def measured(self, rows: Sequence[Planned]) -> dict[str, Measured | InputError]:
        """Truth and measurement by the measurement's id, or why one cannot be shown; an InputError without manifest."""
        first = {row["measurement"]: row for row in rows}
        places = [(row["manifest_shard"], row["manifest_row"]) for row in first.values()]
        digests = [row["measurement_digest"] for row in first.values()]
        stored = self._manifest.fetch_measured(places, digests).to_pylist() if places else []
        return {row["id"]: _measured(row) for row in stored}

    def reconstruction(self, row: Planned, y: Tensor | None = None) -> Picture | None:
        """None where the item is not solved; y is drawn into its picture where the signal can."""
        stored = self._shard(row["shard"]).get(row["item"])
        if stored is None or stored["x"] is None:
            return None
        signal = find_signal(stored["signal"])
        x = signal.decode(stored["x"], row["item"])
        return Picture(x, signal.preview_beside(x, y))

    @cached_property
    def _manifest(self) -> Manifest:
        return Manifest.open(self.sweep.spec.manifest)

    def _read_shard(self, shard: str) -> dict[str, dict[str, Any]]:
        """Reconstructions by work item; neighbouring cells share shards."""
        folder = self.sweep.folder
        if not folder.store.exists(folder.solved_name(shard)):
            return {}
        return {row["item"]: row for row in folder.read_solved(shard, columns=["item", "signal", "x"]).to_pylist()}


def _measured(row: dict[str, Any]) -> Measured | InputError:
    try:
        signal = row_signal(row)
        truth = None if row["truth"] is None else decode_truth(row)
        y = measurement(row)
        shown = signal.preview_measurement(y)
        return Measured(
            None if truth is None else Picture(truth, signal.preview_beside(truth, y)),
            None if shown is None else Picture(y, shown),
        )
    except InputError as error:
        return error
