"""Where a series of nights changed its level: binary segmentation with a permutation test.

A segment is cut where the means on both sides differ most, weighted as in CUSUM. The cut stands if shuffled nights
seldom give one as large. That asks only that nights of one level are exchangeable, and it is slow to believe: after
twelve steady nights a jump is marked after its second night at an alpha of 0.05, and after its fourth at a twelfth of
it, which is what each of twelve series has. A slow drift shows as one or more cuts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from operators import InputError

_ROUNDING = 1e-9
"""Relative spread below which values count as equal."""


@dataclass(frozen=True)
class ChangePoint:
    """A new level begins."""

    index: int
    """Position of the first night of the new level."""

    before: float
    """Mean of the level that ended."""

    after: float
    """Mean of the level that began, up to the next change."""

    p_value: float
    """How often shuffled nights give a cut as large."""


def change_points(
    values: Sequence[float] | NDArray[Any], *, alpha: float = 0.05, resamples: int = 9_999, seed: int = 0
) -> list[ChangePoint]:
    """Changes of level in the order of nights; values that are not finite are passed over.

    A series without any change gets one marked with a chance of at most `alpha`. For several series divide it.
    """
    if not 0 < alpha < 1:
        raise InputError(f"alpha is {alpha!r}: it must be above 0 and below 1.")
    if resamples < 99:
        raise InputError(f"resamples is {resamples!r}: it must be at least 99.")
    series = np.asarray(values, dtype=np.float64)
    places = np.flatnonzero(np.isfinite(series))
    known = series[places]
    cuts = dict(sorted(_cuts(known, 0, alpha, resamples, np.random.default_rng(seed)).items()))
    edges = [0, *cuts, len(known)]
    levels = [float(known[a:b].mean()) for a, b in pairwise(edges)] if len(known) else []
    return [
        ChangePoint(int(places[cut]), before, after, p)
        for (cut, p), (before, after) in zip(cuts.items(), pairwise(levels), strict=True)
    ]


def _cuts(
    values: NDArray[np.float64], offset: int, alpha: float, resamples: int, random: np.random.Generator
) -> dict[int, float]:
    """Accepted cuts of a segment with their p-values, by position in the whole series."""
    if len(values) < 2 or np.ptp(values) <= _ROUNDING * np.abs(values).max():
        return {}
    sizes = _cut_sizes(values[None])[0]
    cut, largest = int(sizes.argmax()) + 1, sizes.max()
    shuffled = random.permuted(np.tile(values, (resamples, 1)), axis=1)
    as_large = int((_cut_sizes(shuffled).max(axis=1) >= largest * (1 - _ROUNDING)).sum())
    p = (1 + as_large) / (1 + resamples)
    if p > alpha:
        return {}
    left = _cuts(values[:cut], offset, alpha, resamples, random)
    right = _cuts(values[cut:], offset + cut, alpha, resamples, random)
    return {offset + cut: p} | left | right


def _cut_sizes(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """(R, n) -> (R, n - 1): the weighted difference of means at every cut."""
    count = rows.shape[1]
    before = np.arange(1, count)
    sums = np.cumsum(rows - rows.mean(axis=1, keepdims=True), axis=1)[:, :-1]
    sizes: NDArray[np.float64] = np.abs(sums) / np.sqrt(before * (count - before) / count)
    return sizes
