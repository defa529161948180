"""What a sweep shows: the best cell of every task and metric, and star against Markov, paired."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from eval.metrics import MetricInfo
from eval.report.results import CellResult, Results, worded
from eval.scores import CellValues
from eval.statistics import Interval, PairedResult, bootstrap_interval, corrected_together, paired
from eval.verdicts import ahead, significant, verdict
from operators import InputError


@dataclass(frozen=True)
class Best:
    """The cell with the best mean."""

    task: str
    metric: MetricInfo
    cell: CellResult
    mean: Interval
    images: int
    """Measurements of the task; the mean may be over fewer."""

    rivals: int
    """Cells of the task that could have won."""

    tied: int
    """Those of them whose paired 95 % interval against the best holds 0."""

    unranked: int
    """Cells with too few values to have won."""

    @property
    def of_images(self) -> str:
        """`11 of 12`, or `12` where none is missing."""
        return str(self.images) if self.mean.clusters == self.images else f"{self.mean.clusters} of {self.images}"


@dataclass(frozen=True)
class Duel:
    """Star minus Markov on the same measurements and seeds."""

    task: str
    metric: MetricInfo
    star: CellResult
    markov: CellResult
    result: PairedResult | None
    reason: str | None = None
    """Why there is no result."""

    @property
    def winner(self) -> str | None:
        """`star` or `markov` where the interval excludes 0 and the corrected p-value is small, else None."""
        if self.result is None or not significant(self.result):
            return None
        return {"a": "star", "b": "markov", None: None}[ahead(self.metric, self.result)]

    @property
    def verdict(self) -> str:
        if self.result is None:
            return f"not compared: {self.reason}"
        return verdict(self.metric, self.result, "star", "Markov")


def best_of(cells: Sequence[CellResult], metric: MetricInfo) -> CellResult | None:
    """The best mean over the same rows; where no cell is ranked, the best of the fullest; None without any mean."""
    name, choose = metric.name, max if metric.direction == "higher" else min
    ranked = [cell for cell in cells if name in cell.ranked]
    if ranked:
        return choose(ranked, key=lambda cell: cell.ranked[name])
    able = [cell for cell in cells if name in cell.means]
    most = max((cell.means[name].count for cell in able), default=0)
    fullest = [cell for cell in able if cell.means[name].count == most]
    return choose(fullest, key=lambda cell: cell.means[name].mean) if fullest else None


def best_cells(results: Results) -> list[Best]:
    """Per task and judged metric."""
    found = []
    for task in results.tasks:
        cells, images = results.of_task(task), results.images(task)
        for metric in results.judged:
            best = best_of(cells, metric)
            if best is not None:
                able = [cell for cell in cells if cell is not best and metric.name in cell.means]
                rivals = [cell for cell in able if metric.name in cell.ranked or metric.name not in best.ranked]
                tied = sum(_holds_zero(results, best, rival, metric.name) for rival in rivals)
                mean, left = best.means[metric.name], len(cells) - 1 - len(rivals)
                found.append(Best(task, metric, best, mean, images, len(rivals), tied, left))
    return found


def best_duels(results: Results) -> list[Duel]:
    """The best star cell against the best Markov cell, per task and judged metric, corrected over all of them."""
    duels = []
    for task in results.tasks:
        by_process = _by_process(results.of_task(task))
        for metric in results.judged:
            star, markov = (best_of(by_process.get(name, []), metric) for name in ("star", "markov"))
            if star is not None and markov is not None:
                duels.append(_duel(results, task, metric, star, markov))
    return _corrected(duels)


def grid_duels(results: Results) -> list[Duel]:
    """Star against Markov wherever all other parameters of the grid agree, corrected over all of them.

    These are the pairs of `eval.statistics.compare_grid`, here on the rows both have: an unfinished sweep is compared
    too, and a pair that cannot be says why instead of taking the others along.
    """
    duels = []
    for metric in results.judged:
        for task in results.tasks:
            points: dict[tuple[object, ...], dict[str | None, CellResult]] = {}
            for cell in results.of_task(task):
                rest = tuple(value for name, value in cell.settings.items() if name != "process")
                points.setdefault(rest, {})[cell.process] = cell
            for pair in points.values():
                if {"star", "markov"} <= pair.keys():
                    duels.append(_duel(results, task, metric, pair["star"], pair["markov"]))
    return _corrected(duels)


def tuned_apart(results: Results) -> list[str]:
    """Settings outside the grid in which the processes differ: `sr4-32: learning_rate 15 for star, 20 for Markov`."""
    outside = [name for name in results.scores.parameters if name not in ("task", "process", *results.axes)]
    found = []
    for task in results.tasks:
        by_process = _by_process(results.of_task(task))
        for name in outside if {"star", "markov"} <= by_process.keys() else ():
            star, markov = (_setting(results, by_process[process], name) for process in ("star", "markov"))
            if star != markov:
                found.append(f"{task}: {name} {star} for star, {markov} for Markov")
    return found


def common(a: CellValues, b: CellValues) -> tuple[CellValues, CellValues]:
    """Both reduced to the measurements and seeds they share: an unfinished sweep has not the same of each cell."""
    keys_a, keys_b = (list(zip(x.measurements.tolist(), x.seeds.tolist(), strict=True)) for x in (a, b))
    if keys_a == keys_b:
        return a, b
    shared = set(keys_a) & set(keys_b)
    return _kept(a, [key in shared for key in keys_a]), _kept(b, [key in shared for key in keys_b])


def _kept(column: CellValues, mask: list[bool]) -> CellValues:
    rows = np.array(mask, dtype=bool)
    arrays = {name: getattr(column, name)[rows] for name in ("measurements", "seeds", "digests", "failed", "values")}
    return replace(column, **arrays)


def _holds_zero(results: Results, best: CellResult, rival: CellResult, metric: str) -> bool:
    a, b = common(results.values(best, metric), results.values(rival, metric))
    difference = a.values - b.values
    if not np.isfinite(difference).any():
        return True
    interval = bootstrap_interval(difference, a.measurements)
    return interval.low is None or interval.high is None or interval.low <= 0 <= interval.high


def _duel(results: Results, task: str, metric: MetricInfo, star: CellResult, markov: CellResult) -> Duel:
    a, b = common(results.values(star, metric.name), results.values(markov, metric.name))
    try:
        return Duel(task, metric, star, markov, paired(a, b))
    except InputError as error:
        return Duel(task, metric, star, markov, None, str(error))


def _corrected(duels: list[Duel]) -> list[Duel]:
    done = iter(corrected_together([duel.result for duel in duels if duel.result is not None]))
    return [duel if duel.result is None else replace(duel, result=next(done)) for duel in duels]


def _setting(results: Results, cells: Sequence[CellResult], name: str) -> str:
    values = [results.scores.cell_parameters(cell.id).get(name) for cell in cells]
    return " and ".join(dict.fromkeys("none" if value is None else worded(value) for value in values))


def _by_process(cells: Sequence[CellResult]) -> dict[str | None, list[CellResult]]:
    groups: dict[str | None, list[CellResult]] = {}
    for cell in cells:
        groups.setdefault(cell.process, []).append(cell)
    return groups
