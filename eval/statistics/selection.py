"""The best cell of one grid against the best of another, each chosen on measurements that do not judge it.

The best of twenty cells looks better than it is: luck on these measurements is part of why it was chosen. Here the
measurements are halved, the winner of each half is judged on the other, and every measurement contributes one
difference between cells that were chosen without it. Two things remain, and both are looked after:

- The halves are not independent, since each chooses what the other is judged by: where both choose the same cell, it
  was ahead in both. How much the standard error grows by that is simulated with random signs, as though all cells
  of a grid were equally good, and interval and test allow for it.
- What half the measurements choose is a little worse than the best, the more so the larger the grid. Choosing on all
  of them errs to the other side, so a difference counts only as far as it shows both ways: p is the larger one.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from eval.scores import CellValues
from eval.statistics.paired import PairedResult, paired
from eval.statistics.shared_rows import FiniteRows, common_rows, joined, same_rows, taken
from operators import InputError
from operators.plurals import counted

FEWEST_MEASUREMENTS = 4
"""Two per half: a winner chosen on one image is chosen by luck."""
_SIGN_DRAWS = 2000
_SUMS_AT_ONCE = 2**18
"""Draws times cells: those of up to 131 cells are made together."""


@dataclass(frozen=True)
class SelectedContrast:
    """What arm a minus arm b amounts to, each with the cell that was chosen for it."""

    metric: str
    a: str
    """Label of the arm."""

    b: str
    result: PairedResult | None
    """Over all measurements, each judging cells that were chosen without it; None where `reason` says why."""

    chosen_a: tuple[str, ...] = ()
    """The cell chosen on the first half and judged on the second, then the reverse; one where no arm has a choice."""

    chosen_b: tuple[str, ...] = ()
    best_a: str | None = None
    """Cell chosen on all measurements: the one to show, and too good to judge by."""

    best_b: str | None = None
    on_all: PairedResult | None = None
    """`best_a` minus `best_b` on the measurements that chose them: it flatters the larger grid."""

    inflation: float = 1.0
    """Standard error of the mean difference over that of halves that do not choose for each other."""

    reason: str | None = None


def selected_contrast(
    a: Mapping[str, CellValues],
    b: Mapping[str, CellValues],
    *,
    better: Literal["higher", "lower"],
    a_label: str,
    b_label: str,
    seed: int = 0,
    confidence: float = 0.95,
    resamples: int = 10_000,
) -> SelectedContrast:
    """Arm a minus arm b, grids of cells by their ids, with winners judged on measurements that did not choose them.

    With one cell on each side it is the plain paired comparison of the rows that both have.
    """
    if not a or not b:
        raise InputError(f"{b_label if a else a_label} has no cells: a comparison needs one on each side.")
    contrast = SelectedContrast(next(iter(a.values())).metric, a_label, b_label, None)
    arms = _Arm(a, a_label, better), _Arm(b, b_label, better)
    judge = partial(paired, confidence=confidence, resamples=resamples, seed=seed)
    everything = frozenset.intersection(*(arm.measurements for arm in arms))
    try:
        parts = _parts(everything, seed) if any(len(arm.cells) > 1 for arm in arms) else (everything,)
        chosen = [tuple(arm.winner(part) for part in parts) for arm in arms]
        best = [arm.winner(everything) for arm in arms]
        contrast = replace(contrast, chosen_a=chosen[0], chosen_b=chosen[1], best_a=best[0], best_b=best[1])
        inflation = _inflation(*arms, *parts, seed=seed) if len(parts) > 1 else 1.0
        # each half is judged by what the other chose
        judged = [arm.joined(cells, parts[::-1]) for arm, cells in zip(arms, chosen, strict=True)]
        result = judge(*common_rows(*judged), inflation=inflation)
        flattered = [arm.joined([cell], [everything]) for arm, cell in zip(arms, best, strict=True)]
        on_all = judge(*common_rows(*flattered)) if len(parts) > 1 else result
    except InputError as error:
        return replace(contrast, reason=str(error))
    result = replace(result, p_value=_shown_both_ways(result, on_all))
    return replace(contrast, result=result, on_all=on_all, inflation=inflation)


def halves(measurements: Iterable[str], seed: int = 0) -> tuple[frozenset[str], frozenset[str]]:
    """Two random halves of the distinct names, decided by these and the seed alone; an odd one is in the first."""
    names = sorted(set(measurements))
    order = np.random.default_rng(seed).permutation(len(names)).tolist()
    middle = (len(names) + 1) // 2
    return frozenset(names[i] for i in order[:middle]), frozenset(names[i] for i in order[middle:])


def _parts(measurements: frozenset[str], seed: int) -> tuple[frozenset[str], ...]:
    if len(measurements) < FEWEST_MEASUREMENTS:
        raise InputError(
            f"{counted(len(measurements), 'measurement')} cannot both choose a cell and judge it: "
            f"{FEWEST_MEASUREMENTS} are needed"
        )
    return halves(measurements, seed)


def _shown_both_ways(held_out: PairedResult, on_all: PairedResult) -> float:
    """The larger p of the two; 1 where they point to different arms."""
    same_side = np.sign(held_out.difference.mean) == np.sign(on_all.difference.mean)
    return max(held_out.p_value, on_all.p_value) if same_side else 1.0


class _Arm:
    """The cells of one side that are full enough to be chosen, and the rows on which they are ranked."""

    def __init__(self, cells: Mapping[str, CellValues], label: str, better: Literal["higher", "lower"]) -> None:
        self.label, self._columns, shared = label, cells, FiniteRows(cells)
        self.cells = shared.names
        self._owners = shared.measurements
        self._merits = np.empty((len(self._owners), len(self.cells)))  # (rows, cells)
        first, names = cells[self.cells[0]], set[str]()
        for place, name in enumerate(self.cells):
            column = cells[name]
            names.update(() if place and same_rows(column, first) else column.measurements.tolist())
            self._merits[:, place] = column.values[shared.places(column)]
        self.measurements = frozenset(names)
        if better == "lower":
            np.negative(self._merits, out=self._merits)

    def winner(self, part: frozenset[str]) -> str:
        """The cell with the best mean over the ranking rows of some measurements."""
        if len(self.cells) == 1:
            return self.cells[0]
        mask = np.array([owner in part for owner in self._owners.tolist()], dtype=bool)
        if not mask.any():
            raise InputError(f"the {len(self.cells)} cells of {self.label} have too few rows in common to choose one")
        return self.cells[int(self._merits[mask].mean(0).argmax())]

    def residuals(self, measurements: Sequence[str]) -> NDArray[np.float64]:
        """What each measurement adds to the deviation of a cell's mean from itself: (measurements, cells)."""
        position = {name: index for index, name in enumerate(measurements)}
        owners = self._owners.tolist()
        rows = [index for index, owner in enumerate(owners) if owner in position]
        sums = np.zeros((len(measurements), len(self.cells)))
        if rows:
            merits = self._merits[rows]  # a copy, and with 1000 cells no small one: changed where it is
            merits -= merits.mean(0)
            merits /= len(rows)
            np.add.at(sums, [position[owners[row]] for row in rows], merits)
        return sums

    def joined(self, names: Sequence[str], parts: Sequence[frozenset[str]]) -> CellValues:
        """One column of values: each part of the measurements from its own cell, sorted by measurement and seed."""
        pieces = []
        for name, part in zip(names, parts, strict=True):
            cell = self._columns[name]
            pieces.append(taken(cell, [i for i, owner in enumerate(cell.measurements.tolist()) if owner in part]))
        return joined(pieces, self.label)


def _inflation(a: _Arm, b: _Arm, first: frozenset[str], second: frozenset[str], *, seed: int) -> float:
    """Standard error of the two halves' sum of differences over what it were if neither chose for the other.

    Cells are made equal by taking their means away, and runs without any true difference by random signs of whole
    measurements; each goes through the choice again.
    """
    names = [*sorted(first), *sorted(second)]
    signs = np.random.default_rng([seed, 1]).choice([-1.0, 1.0], size=(_SIGN_DRAWS, len(names)))
    middle = len(first)
    gaps = [np.zeros(_SIGN_DRAWS), np.zeros(_SIGN_DRAWS)]
    for arm, sign in ((a, 1), (b, -1)):
        residuals = arm.residuals(names)
        at_once = max(1, _SUMS_AT_ONCE // residuals.shape[1])
        for part in (slice(start, start + at_once) for start in range(0, _SIGN_DRAWS, at_once)):
            own = signs[part]
            sums = own[:, :middle] @ residuals[:middle], own[:, middle:] @ residuals[middle:]  # (draws, cells)
            for judged, choosing in ((0, 1), (1, 0)):
                gaps[judged][part] += sign * sums[judged][np.arange(len(own)), sums[choosing].argmax(1)]
    apart = float((gaps[0] ** 2 + gaps[1] ** 2).mean())
    together = float(((gaps[0] + gaps[1]) ** 2).mean())
    return float(np.sqrt(max(1.0, together / apart))) if apart else 1.0
