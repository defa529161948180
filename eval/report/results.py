"""A scored table as a report sees it: cells with their intervals, over the parameters that a grid varies."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product

import pyarrow as pa
import pyarrow.compute as pc

from eval.metrics import MetricInfo, metric_info, metric_names
from eval.report.ranking import ranking_means
from eval.scores import CellValues, Parameter, ScoreTable
from eval.seconds import cell_seconds
from eval.statistics import Interval, bootstrap_interval

COSTS = {"seconds": MetricInfo("seconds", "lower", "s", "time of one image, by its own calls of the networks")}
_NOT_METRICS = ("seconds", "peak_bytes")


@dataclass(frozen=True)
class CellResult:
    """One cell of the grid."""

    id: str
    task: str
    settings: dict[str, Parameter]
    """The grid's parameters, `process` among them."""

    means: dict[str, Interval]
    """By metric; one without a finite value is missing."""

    seconds: float | None
    """Of one image, by `eval.seconds`."""

    comparable_seconds: float | None
    """The same, unless they were measured under other circumstances than those of most cells of the task."""

    count: int
    failed: int
    ranked: dict[str, float] = field(default_factory=dict)
    """By metric, what it is ranked by: see `eval.report.ranking`. A cell with too few values has none."""

    @property
    def process(self) -> str | None:
        value = self.settings.get("process")
        return None if value is None else str(value)

    @cached_property
    def label(self) -> str:
        """`star, eta_kl=0.0003, gamma=0.1`; the task stands elsewhere."""
        given = [(name, value) for name, value in self.settings.items() if value is not None]
        words = [value if isinstance(value, str) else f"{name}={worded(value)}" for name, value in given]
        return ", ".join(words) or "the only settings"


class Results:
    """Every cell of a table. `axes` are the parameters that the grid varies, by default those that differ in a task."""

    def __init__(self, scores: ScoreTable, axes: Sequence[str] | None = None) -> None:
        self.scores = scores
        self.metrics = [info_of(name) for name in scores.metrics if name not in _NOT_METRICS]
        self._seconds = cell_seconds(scores)
        settings = {cell: scores.cell_parameters(cell) for cell in scores.cells()}
        self.axes = _axes(settings, axes)
        cells = [self._cell(cell, values) for cell, values in settings.items()]
        self.tasks = list(dict.fromkeys(cell.task for cell in cells))
        ranked = self._ranked(cells)
        self.cells = [replace(cell, ranked=ranked[cell.id]) for cell in cells]

    @property
    def judged(self) -> list[MetricInfo]:
        """Metrics that have a better and a worse."""
        return [metric for metric in self.metrics if metric.direction != "none"]

    def of_task(self, task: str) -> list[CellResult]:
        return [cell for cell in self.cells if cell.task == task]

    def values(self, cell: CellResult, metric: str) -> CellValues:
        return self.scores.values(cell.id, metric)

    def images(self, task: str) -> int:
        """Measurements of a task of which anything is scored."""
        cells = pa.array([cell.id for cell in self.of_task(task)], pa.string())
        part = self.scores.table.filter(pc.is_in(self.scores.table["cell"], value_set=cells))
        return int(pc.count_distinct(part["measurement"]).as_py())

    def _ranked(self, cells: Sequence[CellResult]) -> dict[str, dict[str, float]]:
        found: dict[str, dict[str, float]] = {cell.id: {} for cell in cells}
        for task, metric in product(self.tasks, self.judged):
            columns = {c.id: self.values(c, metric.name) for c in cells if c.task == task and metric.name in c.means}
            for cell, mean in ranking_means(columns).items():
                found[cell][metric.name] = mean
        return found

    def _cell(self, cell: str, settings: dict[str, Parameter]) -> CellResult:
        means = {}
        for metric in self.metrics:
            values = self.scores.values(cell, metric.name)
            if values.finite.any():
                means[metric.name] = bootstrap_interval(values.values, values.measurements)
        first, seconds = self.scores.values(cell, self.scores.metrics[0]), self._seconds.get(cell)
        return CellResult(
            id=cell,
            task=str(settings.get("task") or "all"),
            settings={name: settings.get(name) for name in self.axes},
            means=means,
            seconds=None if seconds is None else seconds.seconds,
            comparable_seconds=seconds.seconds if seconds is not None and seconds.usual else None,
            count=len(first.values),
            failed=first.failed_count,
        )


def info_of(name: str) -> MetricInfo:
    """What is known of a metric; one that no registry knows has no better and worse."""
    if name in COSTS:
        return COSTS[name]
    return metric_info(name) if name in metric_names() else MetricInfo(name, "none", "", name)


def worded(value: Parameter) -> str:
    """A parameter's value for people."""
    if isinstance(value, float):
        return f"{value:g}"
    return "" if value is None else str(value) if isinstance(value, str) else str(value).lower()


def _axes(settings: dict[str, dict[str, Parameter]], wanted: Sequence[str] | None) -> list[str]:
    """In the table's order; `process` first, as every label has it."""
    known = list(dict.fromkeys(name for values in settings.values() for name in values if name != "task"))
    found = []
    for name in known:
        by_task: dict[Parameter, set[Parameter]] = {}
        for values in settings.values():
            by_task.setdefault(values.get("task"), set()).add(values.get(name))
        if any(len(distinct) > 1 for distinct in by_task.values()) and (wanted is None or name in wanted):
            found.append(name)
    return sorted(found, key=lambda name: name != "process")
