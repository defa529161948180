"""The sign-flip permutation test of paired differences.

If two runs differ by nothing but their random draws, swapping them inside a measurement changes nothing: each
measurement's difference is as likely to have the other sign. The test asks how often random signs give a sum at
least as far from zero as the one observed. It assumes no distribution.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eval.statistics.bootstrap import check_resampling
from eval.statistics.clusters import Labels, as_values, cluster_totals
from operators import InputError

_SIGNS_AT_ONCE = 2**20
_FEW = 10


def sign_flip_p_value(
    differences: Sequence[float] | NDArray[Any],
    clusters: Labels | None = None,
    *,
    resamples: int = 10_000,
    seed: int = 0,
) -> float:
    """Two-sided p of "no difference": twice the smaller tail, and at most 1.

    All 2^n signs are tried where that takes no more than `resamples`; otherwise signs are drawn, and the observed
    one is counted among them so that p is never 0. A small p is drawn ten times finer, since a correction for many
    tests asks for it, and what is rarer still gets a proven upper bound.
    """
    check_resampling(0.5, resamples)
    array = as_values(differences)
    if not array.size or not np.isfinite(array).all():
        raise InputError("differences: they must be finite and at least one.")
    sums, _ = cluster_totals(array, clusters)
    if 2 ** len(sums) <= resamples:
        signs = np.arange(2 ** len(sums))[:, None] >> np.arange(len(sums)) & 1
        at_least, at_most = _tails(signs, sums)
        return float(min(1.0, 2 * min(at_least, at_most) / len(signs)))
    bound = 2 * _tail_bound(sums)
    if bound < 1 / (10 * resamples + 1):  # rarer than the finest draws could show
        return bound
    random = np.random.default_rng(seed)
    at_least, at_most = _draw_tails(sums, resamples, random)
    draws = resamples
    if min(at_least, at_most) < _FEW:  # p stays valid: what needs no second look was above it in the first
        more, less = _draw_tails(sums, 9 * resamples, random)
        at_least, at_most, draws = at_least + more, at_most + less, 10 * resamples
    return bound if bound < 1 / (draws + 1) else min(1.0, 2 * (min(at_least, at_most) + 1) / (draws + 1))


def _draw_tails(sums: NDArray[np.float64], draws: int, random: np.random.Generator) -> tuple[int, int]:
    at_least = at_most = 0
    rows = max(1, _SIGNS_AT_ONCE // len(sums))
    for start in range(0, draws, rows):
        count = min(rows, draws - start)
        packed = random.integers(0, 256, size=(count, -(-len(sums) // 8)), dtype=np.uint8)
        more, less = _tails(np.unpackbits(packed, axis=1, count=len(sums)), sums)
        at_least, at_most = at_least + more, at_most + less
    return at_least, at_most


def _tails(bits: NDArray[Any], sums: NDArray[np.float64]) -> tuple[int, int]:
    """How many rows of signs give a sum at least, and at most, the observed one; rounding counts as a tie."""
    flipped = (2.0 * bits - 1.0) @ sums
    slack = 1e-12 * np.abs(sums).sum()
    return int((flipped >= sums.sum() - slack).sum()), int((flipped <= sums.sum() + slack).sum())


def _tail_bound(sums: NDArray[np.float64]) -> float:
    """Chernoff's bound on the chance that random signs reach the observed sum.

    It holds at every t, so a coarse search for the best t does.
    """
    total, squares = abs(sums.sum()), (sums**2).sum()
    if not total:
        return 1.0
    t = total / squares * np.geomspace(0.5, 200, 100)[:, None]
    scaled = np.abs(t * sums)
    log_cosh = (scaled + np.log1p(np.exp(-2 * scaled)) - np.log(2)).sum(1)
    return float(np.exp((log_cosh - t[:, 0] * total).min()))
