"""The one record of a sweep: its cells, labels, means, intervals, ranks, winners and contrasts, computed once.

Terminal, MLflow, report, paper tables and nightly render it and compute nothing of this themselves.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import product

import pyarrow as pa

from eval.cell_labels import IDENTITY, arm_of, cell_labels, shown_settings, task_of, value_words
from eval.distribution.results import CellDistance
from eval.metrics import MetricInfo
from eval.record.cell_result import Best, CellResult, best_of, ties
from eval.record.contrasts import Contrast, best_contrasts, point_contrasts
from eval.record.measured import measured_means, real_means
from eval.record.race_words import RaceWords
from eval.record.ranking import asked_alike, ranking_means
from eval.record.sides import Sides, arms_in_order, chosen_sides
from eval.scores import CellColumns, CellValues, Parameter, ScoreTable
from eval.seconds import CellSeconds, cell_seconds
from eval.statistics import Interval, bootstrap_interval
from eval.statistics.shared_rows import common_rows

COSTS = ("seconds", "peak_bytes")
"""Measured while solving; they stand beside the metrics."""

Distances = Mapping[str, Mapping[str, CellDistance]]
"""Distances between sets of images, such as `fid`, by cell and name."""


class SweepRecord:
    """All that a scored table says. `compare` names the baseline arm, or a setting whose values are compared."""

    def __init__(
        self,
        scores: ScoreTable,
        *,
        compare: str | None = None,
        arms: Sequence[str] = (),
        measured: pa.Table | None = None,
        distances: Distances | None = None,
        race: RaceWords | None = None,
    ) -> None:
        """`arms` is their order, where it is known; `measured` has scores of the measurements and truths themselves."""
        self.scores = scores
        self.compare = compare
        self.distances = distances or {}
        self.race = race
        self.metrics = [metric_facts(scores, name) for name in scores.metrics if name not in COSTS]
        parameters = {cell: scores.cell_parameters(cell) for cell in scores.cells()}
        self.shown = shown_settings(parameters)
        cells = self._cells(parameters)
        self.arms = arms_in_order(cells, arms, compare)
        self.tasks = list(dict.fromkeys(cell.task for cell in cells))
        self.cells = self._ranked(
            sorted(cells, key=lambda cell: (self.tasks.index(cell.task), self.arms.index(cell.arm)))
        )
        self.measurements = measured_means(measured, self)
        self.real = real_means(measured, self)

    @property
    def judged(self) -> list[MetricInfo]:
        """Metrics that have a better and a worse."""
        return [metric for metric in self.metrics if metric.direction != "none"]

    def of_task(self, task: str) -> list[CellResult]:
        """Cells of a task, arm by arm."""
        return [cell for cell in self.cells if cell.task == task]

    def cell(self, id: str) -> CellResult:
        """The cell of an id."""
        return self._by_id[id]

    def values(self, cell: CellResult, metric: str) -> CellValues:
        """Every row of a cell by one metric."""
        return self.scores.values(cell.id, metric)

    def columns(self, cells: Iterable[CellResult], metric: str) -> CellColumns:
        """Every row of several cells by one metric, cell by cell."""
        return self.scores.cell_columns((cell.id for cell in cells), metric)

    def rankable(self, task: str, metric: str) -> Mapping[str, CellValues]:
        """Columns of the cells of a task that may be ranked with each other; of a race, where all still ran."""
        return self._rankable(self.of_task(task), metric)

    def best_of(self, task: str, metric: MetricInfo, arm: str | None = None) -> CellResult | None:
        """The best cell of a task, or of one of its arms; None where none has a value."""
        return best_of([cell for cell in self.of_task(task) if arm is None or cell.arm == arm], metric)

    def cost(self, cell: CellResult, name: str) -> Interval | None:
        """What rows of a cell took by the clock or in memory, one of `COSTS`; None where it was not measured."""
        return _interval(self.values(cell, name)) if name in self.scores.metrics else None

    def real_sets(self, task: str) -> dict[str, float]:
        """Numbers about the set of the truths by name, such as `diversity_cmu`: those of the cell with most of them."""
        known = [one for cell in self.of_task(task) for one in self.distances.get(cell.id, {}).values()]
        fullest = sorted((one for one in known if one.of_truth is not None), key=lambda one: one.images)
        return {one.name: one.of_truth for one in fullest if one.of_truth is not None}

    def beside_others(self, cell: CellResult, distance: CellDistance) -> bool:
        """Whether a distance can be held against other cells': over all images, in a race over the most there are.

        Fewer images make most distances larger, and cells that left a race have fewer.
        """
        if self.race is None or not distance.whole:
            return distance.whole
        known = (self.distances.get(one.id, {}).get(distance.name) for one in self.of_task(cell.task))
        return distance.images == max(one.images for one in known if one is not None)

    def images(self, task: str) -> int:
        """Measurements of a task of which anything is scored."""
        return len(self.scores.measurements(cell.id for cell in self.of_task(task)))

    @cached_property
    def best(self) -> list[Best]:
        """The winner of every task and judged metric, as far as there is one."""
        winners = []
        for task, metric in product(self.tasks, self.judged):
            winner = self.best_of(task, metric)
            if winner is not None:
                winners.append(self._best(task, metric, winner))
        return winners

    @cached_property
    def sides(self) -> Sides | None:
        """What is compared with what; None where `compare` names nothing that is scored."""
        return chosen_sides(self.cells, self.arms, self.compare)

    @cached_property
    def contrasts(self) -> list[Contrast]:
        """Best of grid against best of the baseline's grid, per task and judged metric."""
        if self.sides is None:
            return []
        return best_contrasts(self.scores, self.cells, self.judged, self.sides, self.race)

    @cached_property
    def pointwise(self) -> list[Contrast]:
        """Cells that differ in what is compared alone; empty where `contrasts` compares those already."""
        if self.sides is None:
            return []
        points = point_contrasts(self.scores, self.cells, self.judged, self.sides)
        compared = {one.key for one in self.contrasts}
        return [] if all(one.key in compared for one in points) else points

    @cached_property
    def set_apart(self) -> list[str]:
        """Settings outside the grid in which sides differ: `sr4-32: learning_rate 15 for star, 20 for markov`."""
        sides = self.sides
        if sides is None:
            return []
        aside = (*IDENTITY, *self.shown, sides.setting)
        sentences = []
        for task, name in product(self.tasks, (name for name in self.scores.parameters if name not in aside)):
            values = {side: self._side_values(task, side, name) for side in sides.names}
            known = {side: text for side, text in values.items() if text and text != side}
            if len(set(known.values())) > 1:
                sentences.append(f"{task}: {name} " + ", ".join(f"{text} for {side}" for side, text in known.items()))
        return sentences

    @property
    def notes(self) -> list[str]:
        """What cannot be compared."""
        if self.compare is not None and self.sides is None:
            return [f"nothing is compared: nothing is scored of {self.compare!r}, which compare names"]
        return []

    @cached_property
    def _by_id(self) -> dict[str, CellResult]:
        return {cell.id: cell for cell in self.cells}

    def _cells(self, parameters: Mapping[str, dict[str, Parameter]]) -> list[CellResult]:
        labels, seconds = cell_labels(parameters, self.shown), cell_seconds(self.scores)
        return [self._cell(id, known, labels[id], seconds.get(id)) for id, known in parameters.items()]

    def _cell(self, id: str, known: dict[str, Parameter], label: str, seconds: CellSeconds | None) -> CellResult:
        columns = {metric.name: self.scores.values(id, metric.name) for metric in self.metrics}
        means = {
            name: mean
            for name, column in columns.items()
            if (mean := _interval(column, self.scores.info(name).share)) is not None
        }
        first = self.scores.values(id, self.scores.metrics[0])
        return CellResult(
            id=id,
            task=task_of(known) or "all",
            arm=arm_of(known),
            method=str(known.get("method") or ""),
            prior=str(known.get("prior") or ""),
            settings={name: known.get(name) for name in self.shown},
            parameters=known,
            label=label,
            title=self.scores.cell_label(id),
            means=means,
            not_finite={name: count for name, column in columns.items() if (count := column.non_finite_count)},
            seconds=None if seconds is None else seconds.seconds,
            comparable_seconds=seconds.seconds if seconds is not None and seconds.usual else None,
            count=len(first.values),
            failed=first.failed_count,
            left="" if self.race is None else self.race.mark(id),
        )

    def _ranked(self, cells: Sequence[CellResult]) -> list[CellResult]:
        ranked: dict[str, dict[str, float]] = {cell.id: {} for cell in cells}
        for task, metric in product(self.tasks, self.judged):
            able = [cell for cell in cells if cell.task == task and metric.name in cell.means]
            for id, mean in ranking_means(self._rankable(able, metric.name)).items():
                ranked[id][metric.name] = mean
        return [replace(cell, ranked=ranked[cell.id]) for cell in cells]

    def _rankable(self, cells: Sequence[CellResult], metric: str) -> Mapping[str, CellValues]:
        race = self.race
        if race is None:
            return self.columns(cells, metric)
        return asked_alike(self.columns([cell for cell in cells if cell.id not in race.unranked], metric))

    def _best(self, task: str, metric: MetricInfo, winner: CellResult) -> Best:
        others = [cell for cell in self.of_task(task) if cell is not winner]
        able = [cell for cell in others if metric.name in cell.means]
        rivals = [cell for cell in able if metric.name in cell.ranked or metric.name not in winner.ranked]
        able_to_win = {cell.id for cell in rivals}
        out = [cell for cell in others if cell.id not in able_to_win]
        kept = () if self.race is None else self.race.unranked
        left = sum(bool(cell.left) for cell in out)
        column = self.values(winner, metric.name)
        tied = tuple(rival.id for rival in rivals if ties(*common_rows(column, self.values(rival, metric.name))))
        return Best(
            task, metric, winner, winner.means[metric.name], self.images(task), len(rivals), len(tied),
            unranked=len(out), left=left, raced_apart=sum(cell.id in kept for cell in out) - left,
            measured=self.measurements.get(task, {}).get(metric.name),
            tied_ids=tied, confirmed=None if self.race is None else self.race.confirmed(winner.id, metric.name),
            real=self.real.get(task, {}).get(metric.name),
        )  # fmt: skip

    def _side_values(self, task: str, side: str, name: str) -> str:
        """The values that a setting has in the cells of a side; empty where these have no such setting."""
        cells = [cell for cell in self.of_task(task) if self.sides is not None and self.sides.of(cell) == side]
        values = [value for cell in cells if (value := cell.parameters.get(name)) is not None]
        return " and ".join(dict.fromkeys(map(value_words, values)))


def metric_facts(scores: ScoreTable, name: str) -> MetricInfo:
    """What is known of a metric: from the table itself, else from the registry."""
    return scores.info(name)


def _interval(column: CellValues, share: bool = False) -> Interval | None:
    return bootstrap_interval(column.values, column.measurements, share=share) if column.finite.any() else None
