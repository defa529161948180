"""The mean of a metric with its bootstrap interval, resampling measurements and not single numbers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eval.statistics.clusters import Labels, as_values, cluster_totals
from operators import InputError

_DRAWS_AT_ONCE = 2**20
_KEPT_DRAWS = 2**24
"""Draws of four bytes each that are kept for the next mean of as many clusters."""


@dataclass(frozen=True)
class Interval:
    """A mean and the percentile interval around it."""

    mean: float
    low: float | None
    high: float | None
    count: int
    """Finite values that went into the mean."""

    standard_error: float | None
    clusters: int
    """Independent units among them: measurements."""

    excluded: int
    """Values left out because they were NaN or infinite."""

    confidence: float
    reason: str | None = None
    """Why there is no interval, where there is none."""


def bootstrap_interval(
    values: Sequence[float] | NDArray[Any],
    clusters: Labels | None = None,
    *,
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Interval:
    """Mean of the finite values with a percentile interval; whole clusters are drawn with replacement."""
    check_resampling(confidence, resamples)
    array = as_values(values)
    finite = np.isfinite(array)
    kept = array[finite]
    if not kept.size:
        raise InputError(f"values: none of {array.size} is finite: a mean needs at least one.")
    if clusters is not None and len(clusters) == len(array):
        clusters = np.asarray(clusters)[finite]
    sums, sizes = cluster_totals(kept, clusters)
    mean, excluded = float(kept.mean()), int(array.size - kept.size)
    if len(sums) == 1:
        reason = f"one {'value' if clusters is None else 'cluster'} tells nothing about the spread"
        return Interval(mean, None, None, kept.size, None, 1, excluded, confidence, reason)
    low, high = _percentiles(sums, sizes, confidence, resamples, seed)
    error = clustered_standard_error(kept, clusters)
    return Interval(mean, low, high, kept.size, error, len(sums), excluded, confidence)


def clustered_standard_error(values: Sequence[float] | NDArray[Any], clusters: Labels | None = None) -> float:
    """Standard error of the mean of values that are correlated within clusters; NaN for a single cluster.

    Residuals are added up per cluster, so that three equal seeds count once. With one value per cluster it is the
    familiar standard deviation over the square root of n.
    """
    array = as_values(values)
    sums, sizes = cluster_totals(array, clusters)
    count = len(sums)
    if count < 2:
        return float("nan")
    residuals = sums - sizes * array.mean()
    return float(np.sqrt(count / (count - 1) * (residuals**2).sum()) / array.size)


def check_resampling(confidence: float, resamples: int) -> None:
    """The two settings every resampling method has."""
    if not 0 < confidence < 1:
        raise InputError(f"confidence is {confidence!r}: it must be above 0 and below 1.")
    if resamples < 100:
        raise InputError(f"resamples is {resamples!r}: it must be at least 100.")


def _percentiles(
    sums: NDArray[np.float64], sizes: NDArray[np.float64], confidence: float, resamples: int, seed: int
) -> tuple[float, float]:
    mean = sums.sum() / sizes.sum()
    spread, size = (sums - mean * sizes).astype(np.float32), sizes.astype(np.float32)
    parts = _kept_weights if len(sums) * resamples <= _KEPT_DRAWS else _weights
    # clusters of unlike size change the denominator from draw to draw
    means = np.concatenate([(weights @ spread) / (weights @ size) for weights in parts(len(sums), resamples, seed)])
    tail = (1 - confidence) / 2
    low, high = mean + np.quantile(means.astype(np.float64), [tail, 1 - tail])
    return float(low), float(high)


def _weights(count: int, resamples: int, seed: int) -> Iterator[NDArray[np.float32]]:
    """How often each cluster is drawn, a row per resample, in parts of bounded size."""
    random = np.random.default_rng(seed)
    rows = max(1, _DRAWS_AT_ONCE // count)
    for start in range(0, resamples, rows):
        size = min(rows, resamples - start)
        drawn = random.integers(0, count, size=(size, count)) + count * np.arange(size)[:, None]
        yield np.bincount(drawn.ravel(), minlength=size * count).reshape(size, count).astype(np.float32)


@lru_cache(maxsize=2)
def _kept_weights(count: int, resamples: int, seed: int) -> list[NDArray[np.float32]]:
    """The cells of a sweep have as many measurements each: they share their draws."""
    return list(_weights(count, resamples, seed))
