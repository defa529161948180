"""Who is still in a race, who left when and why: a pure function of the scores that are there.

`race: safe` promises that the best cell of a task is lost to one which is more than `delta` worse with probability at
most `alpha`, whoever leads meanwhile and however often it is looked at. The promise is about means of differences
clipped to `bound`, over measurements like these. With a list of how many stay after each round the best halves stay
instead, and nothing is promised.

Why it holds: let b be the best cell. Money that follows whoever led before each measurement bets without delta, on
differences whose expectation is not above 0, since nobody is better than b. Money on a rival that is more than delta
worse bets with delta, and the same is true. Half the first plus an equal share of the other half on each of those
rivals is therefore wealth made of nothing, and `evidence` against b is never above it while such a rival leads.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from eval.cell_values import ENOUGH
from eval.racing.bets import Numbers, log_evidence
from eval.racing.levels import running_levels
from eval.racing.margins import Margin
from eval.racing.perfect import make_finite

Reason = Literal["beaten", "not among the best", "nothing scored"]

_HOPELESS = 8
"""A cell of which nothing could be scored leaves after this many measurements: fewer may all have failed by chance."""


@dataclass(frozen=True)
class RaceRules:
    """How a race goes; metrics are named by their columns, the first one decides among those that are left."""

    margins: Mapping[str, Margin]
    ends: Sequence[int]
    """Measurements seen after each round."""

    alpha: float = 0.05
    stay: Sequence[int] | None = None
    """Cells that stay after each round, for a race of fixed cost; None: a cell leaves when it is beaten."""

    @property
    def deciding(self) -> str:
        return next(iter(self.margins))


@dataclass(frozen=True)
class Beaten:
    """By whom a cell was beaten in a metric."""

    leader: str
    difference: float
    """Mean lead over it on the measurements that both have; larger is better."""

    evidence: float
    """E: bets that it is beaten have once multiplied their stake by this."""


@dataclass(frozen=True)
class Departure:
    """A cell that left."""

    cell: str
    round: int
    """From 1."""

    seen: int
    reason: Reason
    beaten: Mapping[str, Beaten] = field(default_factory=dict)
    """By metric."""


@dataclass(frozen=True)
class Standing:
    """A race as far as its scores decide it."""

    rounds: int
    """Rounds that are decided."""

    inside: tuple[str, ...]
    left: tuple[Departure, ...]
    leader: str | None
    """Highest level of the deciding metric among those inside; the winner where the race is over. None where no value
    is there."""

    over: bool

    def seen(self, cell: str, ends: Sequence[int]) -> int:
        """Measurements that the race asks of a cell: those of the rounds until it left, or of the present one too."""
        for departure in self.left:
            if departure.cell == cell:
                return departure.seen
        if self.over:
            return ends[self.rounds - 1] if self.rounds else 0
        return ends[self.rounds]


def standing(
    cells: Sequence[str], merits: Mapping[str, Numbers], known: NDArray[np.bool_], rules: RaceRules
) -> Standing:
    """Replay a race round by round, up to the first whose scores are not all there.

    `merits` by metric and `known` are (cells, measurements), measurements in the order of the race; a merit is larger
    where the cell is better, infinite where it is perfect, and NaN where it failed. `known` says which results are
    committed, failed ones included.
    """
    merits = {name: merits[name].copy() for name in rules.margins}
    inside = list(range(len(cells)))
    left: list[Departure] = []
    ahead: dict[str, Numbers] = {name: np.empty(0) for name in rules.margins}
    leader, rounds = None, 0
    while rounds < len(rules.ends) and (len(inside) > 1 or rounds == 0):
        end = rules.ends[rounds]
        if not known[inside, :end].all():
            break
        for name, margin in rules.margins.items():
            make_finite(merits[name], inside, rules.ends[rounds - 1] if rounds else 0, end, margin.bound)
        so_far = {name: merits[name][:, :end] for name in rules.margins}
        ahead = {name: np.append(ahead[name], _ahead(so_far[name], inside, len(ahead[name]))) for name in ahead}
        gone = _leaving(cells, so_far, ahead, inside, rules, rounds)
        left += gone
        out = {one.cell for one in gone}
        inside = [index for index in inside if cells[index] not in out]
        decisive = so_far[rules.deciding]
        leader = cells[_leader(decisive, inside)] if np.isfinite(decisive[inside]).any() else None
        rounds += 1
    over = rounds == len(rules.ends) or (rounds > 0 and len(inside) == 1)
    return Standing(rounds, tuple(cells[index] for index in inside), tuple(left), leader, over)


def _leaving(
    cells: Sequence[str],
    merits: Mapping[str, Numbers],
    ahead: Mapping[str, Numbers],
    inside: list[int],
    rules: RaceRules,
    number: int,
) -> list[Departure]:
    """In the order of the cells; never all of them."""
    end = rules.ends[number]
    empty = [index for index in inside if end >= _HOPELESS and not _has_values(merits, index)]
    racing = [index for index in inside if index not in empty]
    if not racing:
        return []
    gone = [Departure(cells[index], number + 1, end, "nothing scored") for index in empty]
    if rules.stay is not None:
        return gone + _halved(cells, merits[rules.deciding], racing, rules.stay[number], number + 1, end)
    beaten = {name: _beaten(cells, merits[name], ahead[name], racing, rules.margins[name]) for name in rules.margins}
    for index in racing:
        by = {name: beaten[name][index] for name in beaten if index in beaten[name]}
        if len(by) == len(beaten) and all(one.evidence >= 1 / rules.alpha for one in by.values()):
            gone.append(Departure(cells[index], number + 1, end, "beaten", by))
    return gone


def _has_values(merits: Mapping[str, Numbers], index: int) -> bool:
    return any(np.isfinite(values[index]).any() for values in merits.values())


def _beaten(
    cells: Sequence[str], merits: Numbers, ahead: Numbers, racing: list[int], margin: Margin
) -> dict[int, Beaten]:
    """How far every cell but the leader is behind it."""
    leader = _leader(merits, racing)
    lead = merits[leader] - merits[racing]  # (cells, measurements)
    worth = log_evidence(ahead - merits[racing], lead + margin.delta, len(cells) - 1, margin.bound)
    behind = {}
    for index, row, evidence in zip(racing, lead, np.exp(np.minimum(worth, 700.0)), strict=True):
        both = row[np.isfinite(row)]
        if index != leader and len(both):
            behind[index] = Beaten(cells[leader], float(both.mean()), float(evidence))
    return behind


def _ahead(merits: Numbers, racing: list[int], first: int) -> Numbers:
    """From the `first` measurement on, what the cell has that led before it; NaN where none did."""
    places = np.arange(first, merits.shape[1])
    leaders = np.array(racing)[_levels(merits[racing, :-1], first).argmax(1)]
    return np.where(places > 0, merits[leaders, places], np.nan)


def _leader(merits: Numbers, racing: list[int]) -> int:
    """The highest level so far; the first of those that are equal."""
    return racing[int(_levels(merits[racing], merits.shape[1])[0].argmax())]


def _levels(merits: Numbers, first: int) -> Numbers:
    """After the first `first` measurements and after each more; -inf for a cell with too few values to lead.

    With levels none leads by having failed on the hard ones, and failures of one take no measurement from the others.
    """
    counts = np.isfinite(merits).cumsum(1)
    counts = np.concatenate([np.zeros((len(merits), 1), dtype=np.int64), counts], axis=1)[:, first:].T
    full = (counts > 0) & (counts >= ENOUGH * counts.max(1, keepdims=True))
    return np.where(full, running_levels(merits, first), -np.inf)


def _halved(
    cells: Sequence[str], merits: Numbers, racing: list[int], stay: int, number: int, end: int
) -> list[Departure]:
    """All but the best `stay` by their levels."""
    order = np.argsort(-_levels(merits[racing], end)[0], kind="stable")
    return [Departure(cells[racing[place]], number, end, "not among the best") for place in sorted(order[stay:])]
