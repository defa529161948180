"""Which cell of a candidate stands for which of a baseline: by what they share, whatever their ids.

Cells of one id are one. What is left of a task and arm pairs where each is nearest to the other, with fewer settings
that differ than any other has; the settings that differ are named. Where several are equally near nothing is guessed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eval.cell_labels import Parameters, arm_of, task_of, value_words
from eval.scores import ScoreTable

Cells = dict[str, Parameters]
"""Parameters by cell."""
_MOST_PAIRS = 10**7
_OTHER_ARM = 10**6
_NEAR = 2
"""Equally near cells that a reason names."""


@dataclass(frozen=True)
class CellPair:
    """A cell of the baseline and what stands for it."""

    candidate: str | None
    changes: tuple[str, ...] = ()
    """`iterations 6 -> 8`, for every setting that differs."""

    reason: str | None = None
    """Why there is no candidate."""


def pair_cells(candidate: ScoreTable, baseline: ScoreTable) -> dict[str, CellPair]:
    """By the baseline's cell ids, all of them."""
    names = [name for name in baseline.parameters if name in candidate.parameters and name != "task"]
    news, olds = (_parameters(table) for table in (candidate, baseline))
    pairs = {cell: CellPair(cell, tuple(_changes(olds[cell], news[cell], names))) for cell in olds if cell in news}
    arms = ("arm" in candidate.parameters) == ("arm" in baseline.parameters)  # else they are called otherwise
    for task in dict.fromkeys(map(task_of, olds.values())):
        here = [{cell: known for cell, known in cells.items() if task_of(known) == task} for cells in (olds, news)]
        left = [{cell: known for cell, known in cells.items() if cell not in pairs} for cells in here]
        pairs |= _nearest(left[0], left[1], names, arms, lone=len(here[0]) == len(here[1]) == 1)
    return {cell: pairs[cell] for cell in olds}


def _nearest(olds: Cells, news: Cells, names: Sequence[str], arms: bool, lone: bool) -> dict[str, CellPair]:
    """Pairs of one task's cells that share no id: of one arm, or alike in all but its name, or `lone` on both sides."""
    absent = "the candidate does not have this cell"
    if not olds or not news or len(olds) * len(news) > _MOST_PAIRS:
        return dict.fromkeys(olds, CellPair(None, reason=absent))
    distances, new_cells, pairs = _distances(olds, news, names, arms), list(news), {}
    near_old, near_new = distances.min(axis=1), distances.min(axis=0)
    for row, (cell, known) in enumerate(olds.items()):
        places = np.flatnonzero(distances[row] == near_old[row])
        alone = len(places) == 1 and (distances[:, places[0]] == near_new[places[0]]).sum() == 1
        if alone and near_new[places[0]] == near_old[row] and (lone or near_old[row] <= _OTHER_ARM):
            new = new_cells[places[0]]
            pairs[cell] = CellPair(new, tuple(_changes(known, news[new], names)))
            continue
        near = [_changes(known, news[new_cells[place]], names) for place in places[:_NEAR]]
        words = " or ".join(", ".join(changes) for changes in near if changes)
        pairs[cell] = CellPair(None, reason=f"{absent}; the nearest differ in {words}" if words else absent)
    return pairs


def _distances(olds: Cells, news: Cells, names: Sequence[str], arms: bool) -> NDArray[np.int64]:
    """How many settings differ, (old cells, new cells); another arm is further away than any setting."""
    codes: dict[Any, int] = {}

    def coded(cells: Cells, values: Callable[[Parameters], list[Any]]) -> NDArray[np.int64]:
        return np.array([[codes.setdefault(value, len(codes)) for value in values(known)] for known in cells.values()])

    settings = [name for name in names if name != "arm"]
    old, new = (coded(cells, lambda known: [(name, known.get(name)) for name in settings]) for cells in (olds, news))
    sides = [coded(cells, lambda known: [arms and ("arm", arm_of(known))])[:, 0] for cells in (olds, news)]
    return np.stack(
        [(new != row).sum(axis=1) + _OTHER_ARM * (sides[1] != arm) for row, arm in zip(old, sides[0], strict=True)]
    )


def _changes(old: Parameters, new: Parameters, names: Sequence[str]) -> list[str]:
    return [
        f"{name} {value_words(old.get(name)) or 'none'} -> {value_words(new.get(name)) or 'none'}"
        for name in names
        if old.get(name) != new.get(name)
    ]


def _parameters(table: ScoreTable) -> Cells:
    return {cell: table.cell_parameters(cell) for cell in table.cells()}
