"""A table in the paper's shape: our cells as rows, the printed numbers beside them, and every contrast tested."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any

import pyarrow as pa

from eval.paper import paper_results
from eval.scores import CellValues, ScoreTable
from eval.statistics import Interval, bootstrap_interval, holm, paired
from eval.verdicts import SIGNIFICANT
from operators import InputError
from pipelines.grid import matches
from pipelines.paper.columns import COLUMNS, TASKS, paper_task
from pipelines.paper.experiments import Contrast, Experiment, Row, TableSpec
from pipelines.spec import SweepSpec


@dataclass(frozen=True)
class Swept:
    """A finished sweep of an experiment."""

    spec: SweepSpec
    scores: ScoreTable
    dataset: str
    distances: pa.Table | None = None


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
    """Row a minus row b on the same measurements and seeds."""

    a: str
    b: str
    dataset: str
    task: str
    metric: str
    interval: Interval
    p: float
    """After Holm's correction over all differences of the experiment."""

    printed: dict[str, float]
    """The paper's difference by data set."""

    @property
    def shown(self) -> bool:
        low, high = self.interval.low, self.interval.high
        return low is not None and high is not None and not low <= 0 <= high and self.p < SIGNIFICANT

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
    sweeps, spec = list(sweeps), experiment.table
    found: dict[tuple[str, str, str], dict[str, CellValues]] = {}
    distances: dict[tuple[str, str, str], dict[str, Interval]] = {}
    for row in spec.rows:
        for swept in sweeps:
            for cell, task in _matching(swept, row):
                key = (row.label, swept.dataset, task)
                values = {metric: swept.scores.values(cell, metric) for metric in spec.metrics}
                if key in found:
                    raise InputError(f"table {experiment.name}: row {row.label!r} matches two cells of {task}.")
                found[key] = values
                distances[key] = _distances(swept, cell, spec.distances)
    ours = [_ours(key, values, distances[key]) for key, values in found.items()]
    theirs = printed_rows(spec)
    return PaperTable(experiment.name, spec, ours, theirs, _differences(spec, found, theirs))


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


def _matching(swept: Swept, row: Row) -> Iterable[tuple[str, str]]:
    """Cells of a sweep that a row means, with the paper's name of their task."""
    for cell in swept.scores.cells():
        settings = swept.scores.cell_parameters(cell)
        task = paper_task(str(settings["task"]))
        facts: Mapping[str, Any] = settings | {
            "task": task, "method": swept.spec.solver.method, "prior": PurePath(swept.spec.prior).name,
            "batch": swept.spec.resources.batch,
        }  # fmt: skip
        if matches(facts, row.match):
            yield cell, task


def _distances(swept: Swept, cell: str, names: Iterable[str]) -> dict[str, Interval]:
    """Distances of a cell over all its images, where they could be computed; they have no interval."""
    rows = [] if swept.distances is None else swept.distances.to_pylist()
    return {
        row["metric"]: Interval(
            mean=COLUMNS[row["metric"]].value(row["value"]), low=None, high=None, count=row["count_images"],
            standard_error=None, clusters=row["count_images"], excluded=0, confidence=0.95,
        )
        for row in rows
        if row["cell"] == cell and row["metric"] in names and row["value"] is not None
        and row.get("expected") in (None, row["count_images"])
    }  # fmt: skip


def _ours(key: tuple[str, str, str], values: dict[str, CellValues], distances: dict[str, Interval]) -> Ours:
    intervals = {
        metric: bootstrap_interval(COLUMNS[metric].value(1.0) * found.values, found.measurements)
        for metric, found in values.items()
        if found.finite.any()
    }
    images = max((interval.clusters for interval in intervals.values()), default=0)
    return Ours(*key, images, intervals | distances)


def _differences(
    spec: TableSpec, found: Mapping[tuple[str, str, str], dict[str, CellValues]], theirs: list[Theirs]
) -> list[Difference]:
    results: list[Difference] = []
    datasets = dict.fromkeys(dataset for _, dataset, _ in found)
    places = [(dataset, task) for dataset in datasets for task in _in_order(task for _, _, task in found)]
    for contrast in spec.contrasts:
        for dataset, task in places:
            a, b = found.get((contrast.a, dataset, task)), found.get((contrast.b, dataset, task))
            if a is None or b is None:
                continue
            for metric in spec.metrics:
                printed = _printed_difference(theirs, contrast, dataset, task, metric)
                unit = COLUMNS[metric].value(1.0)
                result = paired(_scaled(a[metric], unit), _scaled(b[metric], unit))
                results.append(
                    Difference(
                        contrast.a, contrast.b, dataset, task, metric, result.difference, result.p_value, printed
                    )
                )
    corrected = holm([result.p for result in results])
    return [replace(result, p=float(p)) for result, p in zip(results, corrected, strict=True)]


def _scaled(found: CellValues, unit: float) -> CellValues:
    return replace(found, values=found.values * unit)


def _printed_difference(
    theirs: list[Theirs], contrast: Contrast, dataset: str, task: str, metric: str
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
