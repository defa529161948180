"""A table in the paper's shape: our cells as rows, the printed numbers beside them, and every contrast tested."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import product
from pathlib import PurePath
from typing import Any

from eval.paper import paper_results
from eval.record import COSTS, CellResult, Contrast
from eval.record.contrasts import contrasted, corrected
from eval.record.sweep_record import metric_facts
from eval.statistics import Interval
from operators import InputError
from pipelines.paper.experiments import Experiment, Row, RowContrast, TableSpec
from pipelines.paper.table_columns import COLUMNS, TASKS, paper_task
from pipelines.plan.grid import matches
from pipelines.score.stored_sweep import StoredSweep

Place = tuple[str, str, str]
"""Label of a row, data set and task."""
Match = tuple[StoredSweep, CellResult]
"""The cell that a row means, with its sweep."""


@dataclass(frozen=True)
class Swept:
    """A finished sweep of an experiment."""

    sweep: StoredSweep
    dataset: str


@dataclass(frozen=True)
class Ours:
    """A row's results on one data set and task, by metric, in the columns' units."""

    row: str
    dataset: str
    task: str
    images: int
    values: dict[str, Interval]


@dataclass(frozen=True)
class Theirs:
    """What the paper prints for a row."""

    row: str
    dataset: str
    task: str
    values: dict[str, float]


@dataclass(frozen=True)
class Difference:
    """Row a minus row b on the same measurements and seeds, in the column's unit."""

    a: str
    b: str
    dataset: str
    task: str
    metric: str
    interval: Interval
    p: float
    """After Holm's correction over all differences of the experiment."""

    shown: bool
    """The interval leaves out 0 and p is small."""

    printed: dict[str, float]
    """The paper's difference by data set."""

    @property
    def verdict(self) -> str:
        """How it compares with the paper's difference, by sign alone."""
        if not self.shown:
            return "no difference shown"
        same = [name for name, value in self.printed.items() if value * self.interval.mean > 0]
        other = [name for name in self.printed if name not in same]
        if same and other:
            return f"as on {', '.join(same)}, not as on {', '.join(other)}"
        if same or other:
            return "as in the paper" if same else "opposite to the paper"
        better = COLUMNS[self.metric].better * self.interval.mean
        return f"{self.a if better > 0 else self.b} is better" if better else "they differ"


@dataclass(frozen=True)
class PaperTable:
    """All of one experiment."""

    name: str
    spec: TableSpec
    ours: list[Ours]
    theirs: list[Theirs]
    differences: list[Difference]

    def tasks(self) -> list[str]:
        """The paper's names of the tasks that appear, in the paper's order."""
        return _in_order([entry.task for entry in self.ours] + [entry.task for entry in self.theirs])


def _in_order(tasks: Iterable[str]) -> list[str]:
    used = set(tasks)
    return [task for task in TASKS if task in used] + sorted(used - set(TASKS))


def build_table(experiment: Experiment, sweeps: Iterable[Swept]) -> PaperTable:
    """From scored sweeps; a row that matches two cells of one task is a mistake in `table.yaml` and refused."""
    spec, matched = experiment.table, dict[Place, Match]()
    for row, swept in product(spec.rows, list(sweeps)):
        for cell, task in _matching(swept.sweep, row):
            key = (row.label, swept.dataset, task)
            if key in matched:
                raise InputError(f"table {experiment.name}: row {row.label!r} matches two cells of {task}.")
            matched[key] = swept.sweep, cell
    ours = [_ours(key, *match, spec) for key, match in matched.items()]
    theirs = printed_rows(spec)
    return PaperTable(experiment.name, spec, ours, theirs, _differences(spec, matched, theirs))


def printed_rows(spec: TableSpec) -> list[Theirs]:
    """The paper's numbers for this table, in the paper's order of data sets and tasks."""
    names = {COLUMNS[metric].printed_as: metric for metric in spec.columns}
    rows = [
        Theirs(one.row, one.dataset, one.task, {names[k]: v for k, v in one.values.items() if k in names})
        for one in spec.printed
    ]
    for label, method in spec.methods.items():
        numbers: dict[tuple[str, str], dict[str, float]] = {}
        for result in paper_results(method=method):
            if result.metric in names:
                numbers.setdefault((result.dataset, result.task), {})[names[result.metric]] = result.value
        rows += [Theirs(label, dataset, task, values) for (dataset, task), values in numbers.items()]
    return rows


def _matching(sweep: StoredSweep, row: Row) -> Iterable[tuple[CellResult, str]]:
    """Cells of a sweep that a row means, with the paper's name of their task."""
    for cell in sweep.record.cells:
        task = paper_task(cell.task)
        named = {"task": task, "method": cell.method, "prior": PurePath(cell.prior or "").name}
        facts: Mapping[str, Any] = cell.parameters | named | {"batch": sweep.spec.resources.batch}
        if matches(facts, row.match):
            yield cell, task


def _ours(key: Place, sweep: StoredSweep, cell: CellResult, spec: TableSpec) -> Ours:
    """Means of a cell in the columns' units; distances are over all its images, and have no interval."""
    values = {}
    for metric in spec.metrics:
        mean = sweep.record.cost(cell, metric) if metric in COSTS else cell.means.get(metric)
        if mean is not None:
            values[metric] = in_unit(metric, mean)
    images = max((interval.clusters for interval in values.values()), default=0)
    for name, distance in sweep.distances.get(cell.id, {}).items():
        if name in spec.distances and distance.whole and distance.value is not None:
            count = distance.images
            values[name] = in_unit(name, Interval(distance.value, None, None, count, None, count, 0, 0.95))
    return Ours(*key, images, values)


def in_unit(metric: str, interval: Interval) -> Interval:
    """The same in the unit of the column's heading."""
    turn = COLUMNS[metric].value
    low, high = (None if end is None else turn(end) for end in (interval.low, interval.high))
    return replace(interval, mean=turn(interval.mean), low=low, high=high)


def _differences(spec: TableSpec, matched: Mapping[Place, Match], theirs: list[Theirs]) -> list[Difference]:
    """Every contrast on every data set and task that has both rows, corrected together."""
    datasets = dict.fromkeys(dataset for _, dataset, _ in matched)
    places = [(dataset, task) for dataset in datasets for task in _in_order(task for _, _, task in matched)]
    asked, compared = [], []
    for contrast, (dataset, task) in product(spec.contrasts, places):
        a, b = matched.get((contrast.a, dataset, task)), matched.get((contrast.b, dataset, task))
        if a is None or b is None:
            continue
        for metric in spec.metrics:
            asked.append((dataset, _printed_difference(theirs, contrast, dataset, task, metric)))
            columns = [sweep.scores.values(cell.id, metric) for sweep, cell in (a, b)]
            facts, cells = metric_facts(a[0].scores, metric), ((a[1],), (b[1],))
            compared.append(Contrast(task, facts, contrast.a, contrast.b, *cells, *contrasted(*columns)))
    return [
        _difference(one, dataset, printed) for one, (dataset, printed) in zip(corrected(compared), asked, strict=True)
    ]


def _difference(one: Contrast, dataset: str, printed: dict[str, float]) -> Difference:
    if one.result is None:
        raise InputError(f"{one.a} and {one.b}: {one.reason}")
    gap, p = in_unit(one.metric.name, one.result.difference), one.result.p_corrected or 0.0
    return Difference(one.a, one.b, dataset, one.task, one.metric.name, gap, p, one.is_shown, printed)


def _printed_difference(
    theirs: list[Theirs], contrast: RowContrast, dataset: str, task: str, metric: str
) -> dict[str, float]:
    """The paper's difference on this data set; on each of its own where it did not have this one."""
    printed = {entry.dataset for entry in theirs}
    wanted = {dataset} & printed or printed
    a, b = contrast.printed_a or contrast.a, contrast.printed_b or contrast.b
    values = {
        (entry.row, entry.dataset): entry.values[metric]
        for entry in theirs
        if entry.task == task and metric in entry.values and entry.dataset in wanted
    }
    datasets = dict.fromkeys(name for _, name in values)
    return {name: values[a, name] - values[b, name] for name in datasets if (a, name) in values and (b, name) in values}
