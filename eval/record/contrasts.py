"""Contrasts: two arms, values of a setting or cells, paired by measurement and seed, and what that allows to say.

The best of a grid is held against the best of another by `selected_contrast`, which chooses on measurements other than
those it judges; single cells are compared as they are. Each family is corrected together.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

from eval.metrics import MetricInfo
from eval.record.cell_result import CellResult
from eval.record.numbers import mean_words, p_shown
from eval.record.race_words import RaceWords
from eval.record.raced_columns import Columns, raced_columns
from eval.record.sides import Sides
from eval.scores import CellValues, ScoreTable
from eval.statistics import PairedResult, corrected_together, paired, selected_contrast
from eval.statistics.shared_rows import common_rows
from eval.verdicts import ahead, excludes_zero, images_needed, significant, verdict
from operators import InputError


@dataclass(frozen=True)
class Contrast:
    """a minus b on the same measurements and seeds, by one metric."""

    task: str
    metric: MetricInfo
    a: str
    """Name of the arm, value or cell."""

    b: str
    cells_a: tuple[CellResult, ...]
    """What was judged: one cell, or two where each half of the measurements chose another."""

    cells_b: tuple[CellResult, ...]
    result: PairedResult | None
    reason: str | None = None
    """Why there is no result."""

    chosen: bool = False
    """Each half of the measurements chose cells, and the other judged them."""

    comparisons: int = 1
    """Of the family that p is corrected over."""

    @property
    def key(self) -> tuple[object, ...]:
        """The metric and the ids of the cells that were judged."""
        return self.metric.name, *(tuple(cell.id for cell in cells) for cells in (self.cells_a, self.cells_b))

    @property
    def winner(self) -> str | None:
        """`a` or `b` where the interval excludes 0 and the corrected p-value is small, else None."""
        return ahead(self.metric, self.result) if self.result is not None and significant(self.result) else None

    @property
    def verdict(self) -> str:
        """`star better`, `no difference shown`, or why nothing can be said."""
        if self.result is None:
            return f"not compared: {self.reason}"
        return verdict(self.metric, self.result, self.a, self.b, self.comparisons)

    @property
    def is_shown(self) -> bool:
        """A difference is: the interval leaves out 0 and p is small, whichever way is better."""
        return self.result is not None and significant(self.result) and excludes_zero(self.result)

    @property
    def words(self) -> str:
        """`psnr, star - markov: +1.786 [1.601, 1.974], p 0.0030: star better`."""
        what = f"{self.metric.name}, {self.a} - {self.b}"
        if self.result is None:
            return f"{what}: {self.verdict}"
        p = p_shown(self.result.p_corrected)
        return f"{what}: {mean_words(self.result.difference, sign=True)}{', p ' if p else ''}{p}: {self.verdict}"

    @property
    def judged_a(self) -> str:
        """Labels of the cells."""
        return " / ".join(cell.marked for cell in self.cells_a)

    @property
    def judged_b(self) -> str:
        return " / ".join(cell.marked for cell in self.cells_b)


def best_contrasts(
    scores: ScoreTable,
    cells: Sequence[CellResult],
    judged: Sequence[MetricInfo],
    sides: Sides,
    race: RaceWords | None = None,
) -> list[Contrast]:
    """The best of every side against the best of the baseline, per task and metric, corrected over all of them."""
    contrasts = []
    for task, metric in product(dict.fromkeys(cell.task for cell in cells), judged):
        groups: dict[str | None, list[CellResult]] = {}
        for cell in cells:
            if cell.task == task and metric.name in cell.means:
                groups.setdefault(sides.of(cell), []).append(cell)
        if sides.baseline in groups:
            rivals = [name for name in sides.names if name != sides.baseline and name in groups]
            contrasts += [
                _selected(scores, task, metric, (name, groups[name]), (sides.baseline, groups[sides.baseline]), race)
                for name in rivals
            ]
    return corrected(contrasts)


def group_contrasts(
    scores: ScoreTable,
    judged: Sequence[MetricInfo],
    a: tuple[str, Sequence[CellResult]],
    b: tuple[str, Sequence[CellResult]],
    race: RaceWords | None = None,
) -> list[Contrast]:
    """The best of any named cells against the best of others, per task and metric that both have; corrected together.

    Of one cell on each side it is the plain paired comparison.
    """
    contrasts = []
    for task, metric in product(dict.fromkeys(cell.task for cell in a[1]), judged):
        sides = [[one for one in cells if one.task == task and metric.name in one.means] for _, cells in (a, b)]
        if all(sides):
            contrasts.append(_selected(scores, task, metric, (a[0], sides[0]), (b[0], sides[1]), race))
    return corrected(contrasts)


def point_contrasts(
    scores: ScoreTable, cells: Sequence[CellResult], judged: Sequence[MetricInfo], sides: Sides
) -> list[Contrast]:
    """Cells that agree in every shown setting but the compared one, on the rows both have; corrected together."""
    contrasts = []
    for task, metric in product(dict.fromkeys(cell.task for cell in cells), judged):
        points: dict[tuple[object, ...], dict[str | None, list[CellResult]]] = {}
        for cell in cells:
            if cell.task == task and metric.name in cell.means:
                points.setdefault(sides.point(cell), {}).setdefault(sides.of(cell), []).append(cell)
        for here in points.values():
            rivals = [(name, cell) for name in sides.names if name != sides.baseline for cell in here.get(name, ())]
            for (name, a), b in product(rivals, here.get(sides.baseline, ())):
                columns = scores.values(a.id, metric.name), scores.values(b.id, metric.name)
                contrasts.append(Contrast(task, metric, name, sides.baseline, (a,), (b,), *contrasted(*columns)))
    return corrected(contrasts)


def contrasted(a: CellValues, b: CellValues) -> tuple[PairedResult | None, str | None]:
    """The comparison of two columns on the rows they share, or why there is none."""
    try:
        return paired(*common_rows(a, b)), None
    except InputError as error:
        return None, str(error)


def corrected(contrasts: Sequence[Contrast]) -> list[Contrast]:
    """The same as one family: p-values after Holm's correction over all of them."""
    results = corrected_together([contrast.result for contrast in contrasts if contrast.result is not None])
    done = iter(results)
    return [
        replace(one, result=one.result and next(done), comparisons=max(1, len(results))) for one in contrasts
    ]  # fmt: skip


def too_few(contrasts: Sequence[Contrast]) -> int | None:
    """How many images could decide, where even a difference of the same sign in all of these could not."""
    images = most_images(contrasts)
    needed = images_needed(contrasts[0].comparisons) if contrasts else 0
    return needed if 0 < images < needed else None


def most_images(contrasts: Sequence[Contrast]) -> int:
    """Measurements of the largest comparison; 0 where nothing could be compared."""
    return max((one.result.difference.clusters for one in contrasts if one.result is not None), default=0)


def _selected(
    scores: ScoreTable,
    task: str,
    metric: MetricInfo,
    a: tuple[str, list[CellResult]],
    b: tuple[str, list[CellResult]],
    race: RaceWords | None = None,
) -> Contrast:
    columns: tuple[Columns, Columns] = (
        scores.cell_columns((cell.id for cell in a[1]), metric.name),
        scores.cell_columns((cell.id for cell in b[1]), metric.name),
    )
    if race is not None:
        columns = raced_columns(*columns, race)
    better = "higher" if metric.direction == "higher" else "lower"
    selected = selected_contrast(*columns, better=better, a_label=a[0], b_label=b[0])  # type: ignore[arg-type]
    known = {cell.id: cell for _, cells in (a, b) for cell in cells}
    chosen = [tuple(known[name] for name in dict.fromkeys(names)) for names in (selected.chosen_a, selected.chosen_b)]
    halved = len(selected.chosen_a) > 1
    return Contrast(task, metric, a[0], b[0], chosen[0], chosen[1], selected.result, selected.reason, halved)
