"""Committed scores as races read them: by cell and measurement in the order of the race, seeds averaged."""

import warnings
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from eval.metrics import metric_info
from eval.racing import standing
from pipelines.plan.chosen_metrics import chosen_metrics
from pipelines.plan.planning import Plan
from pipelines.plan.race_course import Heat
from pipelines.plan.race_record import HeatRecord, RaceRecord, heat_record
from pipelines.plan.sweep_spec import SweepSpec
from pipelines.score.committed import score_tables
from pipelines.score.race_outlook import outlook
from pipelines.storage.sweep_folder import SweepFolder

_KEYS = ["item", "cell", "measurement_digest", "seed", "error"]


class Standings:
    """All races of a sweep. What they come to is a function of the tables taken in, in whatever order."""

    def __init__(self, spec: SweepSpec, plan: Plan):
        assert spec.race is not None
        self.races = plan.races(spec)
        self.metrics = [metric_info(name) for name in spec.race.raced(chosen_metrics(spec))]
        seeds = {seed: place for place, seed in enumerate(spec.seeds)}
        perfect = {info.name: np.inf if info.direction == "higher" else -np.inf for info in self.metrics}
        self._boards = [_Board(heat, perfect, seeds) for heat in self.races]
        self._of_cell = {cell.id: board for board in self._boards for cell in board.heat.cells}

    @property
    def columns(self) -> list[str]:
        """What is read of a scored table."""
        return [*_KEYS, *(info.name for info in self.metrics)]

    def load(self, folder: SweepFolder, plan: Plan, scoring: str, again: Collection[str] = ()) -> None:
        """Take in everything that is scored, but for shards that are to be scored again: what they hold may change."""
        for shard, table in score_tables(folder, plan, scoring, self.columns):
            if shard not in again:
                self.take(table)

    def take(self, table: pa.Table) -> None:
        """Results of some work items; one that failed counts as known and has no value."""
        for row in table.to_pylist():
            board = self._of_cell.get(row["cell"])
            if board is not None:
                board.take(row)

    def record(self) -> RaceRecord:
        """What is decided by what was taken in."""
        return RaceRecord(heats=[self._heat(board) for board in self._boards])

    def ahead(self, record: RaceRecord) -> dict[str, int]:
        """Cells that are likely to be in after the round in progress, of all races, with their order."""
        places: dict[str, int] = {}
        for board, heat in zip(self._boards, record.heats, strict=True):
            if not heat.over:
                cells = [cell.id for cell in board.heat.cells]
                inside = np.array([board.rows[runner.cell] for runner in heat.inside])
                order = outlook(self._merits(board), board.complete, inside, board.heat.rules, heat.rounds)
                places |= {cells[row]: place for place, row in enumerate(order)}
        return places

    def _heat(self, board: "_Board") -> HeatRecord:
        if board.last is None or board.decides_more(board.last):
            board.last = self._decided(board)
        return board.last

    def _decided(self, board: "_Board") -> HeatRecord:
        ids = [cell.id for cell in board.heat.cells]
        now = standing(ids, self._merits(board), board.complete, board.heat.rules)
        return heat_record(board.heat, now)

    def _merits(self, board: "_Board") -> dict[str, NDArray[np.float64]]:
        """By metric, larger where a cell is better."""
        signs = {info.name: 1.0 if info.direction == "higher" else -1.0 for info in self.metrics}
        return {name: sign * board.means(name) for name, sign in signs.items()}


class _Board:
    """Values of one race: (cells, measurements, seeds)."""

    def __init__(self, heat: Heat, perfect: Mapping[str, float], seeds: dict[int, int]):
        """`perfect` is by metric the infinity that is a value and no failure, as the PSNR of a perfect copy."""
        shape = len(heat.cells), len(heat.digests), len(seeds)
        self.heat, self.perfect, self.seeds = heat, perfect, seeds
        self.rows = {cell.id: place for place, cell in enumerate(heat.cells)}
        self.known = np.zeros(shape, dtype=bool)
        self.values = {name: np.full(shape, np.nan) for name in perfect}
        self.last: HeatRecord | None = None

    def decides_more(self, last: HeatRecord) -> bool:
        """Whether all is there that the round after the last decided one waits for."""
        if last.over:
            return False
        waiting = [self.rows[runner.cell] for runner in last.inside]
        return bool(self.known[waiting, : self.heat.rules.ends[last.rounds]].all())

    @property
    def complete(self) -> NDArray[np.bool_]:
        """Measurements of which all seeds are there."""
        there: NDArray[np.bool_] = np.all(self.known, axis=-1)
        return there

    def take(self, row: dict[str, Any]) -> None:
        rank, seed = self.heat.rank.get(row["measurement_digest"]), self.seeds.get(row["seed"])
        if rank is None or seed is None:
            return
        place = self.rows[row["cell"]], rank, seed
        self.known[place] = True
        for name, values in self.values.items():
            value = row[name]
            scored = row["error"] is None and isinstance(value, float)
            values[place] = value if scored and (np.isfinite(value) or value == self.perfect[name]) else np.nan

    def means(self, name: str) -> NDArray[np.float64]:
        """Over seeds that have a value; NaN where none has."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of nanmean, about what is the answer
            means: NDArray[np.float64] = np.nanmean(self.values[name], axis=-1)
        return means
