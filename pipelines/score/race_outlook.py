"""Which cells of a race will still be in after the round in progress, as far as scores tell before it is decided.

By it devices that have nothing else to do are given work of later rounds. It decides nothing.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from eval.racing import RaceRules
from eval.racing.bets import Numbers, log_evidence

DOUBTFUL = 0.5
"""Nothing is solved ahead for a cell that has come this share of the way to leaving, in orders of magnitude of
evidence: a round may bring the rest."""


def outlook(
    merits: Mapping[str, Numbers], known: NDArray[np.bool_], inside: NDArray[np.int64], rules: RaceRules, rounds: int
) -> list[int]:
    """Places of such cells, the likeliest first, where so many rounds are decided; all by cell and measurement."""
    end = rules.ends[rounds]
    scored: NDArray[np.bool_] = np.all(known[inside, :end], axis=1)
    so_far = {name: merits[name][inside, :end] for name in rules.margins}
    if rules.stay is None:
        order = _safe(so_far, scored, rules)
    else:
        order = _certain(so_far[rules.deciding], scored, rules.stay[rounds])
    return [int(place) for place in inside[order]]


def _certain(merits: Numbers, scored: NDArray[np.bool_], stay: int) -> NDArray[np.int64]:
    """Those that cannot fall below the cut, whatever the cells get that are not scored to the end of the round."""
    if not np.isfinite(merits[scored]).all():
        return np.empty(0, np.int64)  # means may then change by which measurements count for all
    means = np.where(scored, merits.sum(1), -np.inf)
    order = np.argsort(-means, kind="stable")
    return order[: max(0, min(stay - int((~scored).sum()), int(scored.sum())))]


def _safe(merits: Mapping[str, Numbers], scored: NDArray[np.bool_], rules: RaceRules) -> NDArray[np.int64]:
    """Those against whom there is little evidence, as if today's leader had led from the start.

    Nobody where the leader would be alone: the race is then about to end.
    """
    evidence = np.full(len(scored), np.inf)
    for name, values in merits.items():
        margin, leader = rules.margins[name], _leader(values, scored)
        with np.errstate(invalid="ignore"):  # of two perfect copies
            leads = values[leader] - values
        against = log_evidence(leads, leads + margin.delta, len(scored) - 1, margin.bound)
        against[~np.isfinite(leads).any(1)] = np.inf  # nothing to judge by
        against[leader] = -np.inf
        evidence = np.minimum(evidence, against)  # who is not beaten in one of them stays
    order = np.argsort(evidence, kind="stable")
    likely: NDArray[np.int64] = order[evidence[order] < -DOUBTFUL * np.log(rules.alpha)]
    return likely if len(likely) > 1 else likely[:0]


def _leader(values: Numbers, scored: NDArray[np.bool_]) -> int:
    """The best mean of those whose scores of the round are there, else on what all have."""
    shared = np.isfinite(values[scored if scored.any() else slice(None)]).all(0)
    used = values if not shared.any() else values[:, shared]
    finite = np.isfinite(used)
    means = np.where(finite, used, 0.0).sum(1) / np.maximum(finite.sum(1), 1)
    means[~finite.any(1) | (scored.any() & ~scored)] = -np.inf
    return int(means.argmax())
