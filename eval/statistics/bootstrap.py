"""The mean of a metric with an interval that covers it even for few measurements, which are resampled whole.

Percentiles of resampled means make an interval too short for few measurements: six cover 86 % where 95 % is meant.
Here each resampled mean is divided by its own standard error (the studentised bootstrap), which tells how far to
go on either side when the data are skewed. A side is never shorter than Student's t would have it, since what looks
like skewness may be one stray image, and never more than twice as long.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from eval.statistics.clusters import Labels, as_values, cluster_totals
from operators import InputError

_DRAWS_AT_ONCE = 2**20
_KEPT_DRAWS = 2**24
"""Draws of four bytes each that are kept for the next mean of as many clusters."""
_FEWEST_RESAMPLED = 4
"""With fewer clusters most resamples hold one or two of them, whose spread says nothing: Student's t is left."""
_LONGEST = 2.0
"""A side of the interval over the same side of Student's: four clusters would ask for a hundred now and then."""
_ROUNDING = 1e-6
"""A resample's variance below this share of its sum of squares is rounding of float32: it drew one cluster only."""


@dataclass(frozen=True)
class Interval:
    """A mean and the interval around it."""

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

    def widened(self, factor: float) -> "Interval":
        """The same mean with both sides, and the standard error, `factor` times as long."""
        if factor == 1 or self.low is None or self.high is None or self.standard_error is None:
            return self
        low, high = (self.mean + factor * (end - self.mean) for end in (self.low, self.high))
        return replace(self, low=low, high=high, standard_error=factor * self.standard_error)


def bootstrap_interval(
    values: Sequence[float] | NDArray[Any],
    clusters: Labels | None = None,
    *,
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
    share: bool = False,
) -> Interval:
    """Mean of the finite values with a studentised bootstrap interval; whole clusters are drawn with replacement.

    Two or three clusters get Student's t interval, one gets none, and values without any spread one of no length.
    That of a share ends at 0 and at 1, and says how far from either the mean may be where all values are 0, or 1.
    """
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
    error = clustered_standard_error(kept, clusters)
    below, above = _errors_to_either_side(sums, sizes, confidence, resamples, seed)
    low, high = mean - below * error, mean + above * error
    if share:
        low, high = _within_shares(mean, low, high, error, len(sums), confidence)
    return Interval(mean, low, high, kept.size, error, len(sums), excluded, confidence)


def _within_shares(
    mean: float, low: float, high: float, error: float, clusters: int, confidence: float
) -> tuple[float, float]:
    """The ends of an interval around a mean of shares, which are from 0 to 1.

    Where n clusters are all 0, a larger part of them than 1 - (1 - confidence)^(1/n) is not 0 with less than the
    probability that is left, and no share is above 1: so much, about 3/n, is the most that the mean can be.
    """
    most = 1 - (1 - confidence) ** (1 / clusters)
    if error == 0 and mean in (0.0, 1.0):
        return (0.0, most) if mean == 0 else (1 - most, 1.0)
    return min(mean, max(low, 0.0)), max(mean, min(high, 1.0))


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
    scale = np.abs(residuals).max() or 1.0  # squares of very large values would overflow
    return float(scale * np.sqrt(count / (count - 1) * ((residuals / scale) ** 2).sum()) / array.size)


def check_resampling(confidence: float, resamples: int) -> None:
    """The two settings every resampling method has."""
    if not 0 < confidence < 1:
        raise InputError(f"confidence is {confidence!r}: it must be above 0 and below 1.")
    if resamples < 100:
        raise InputError(f"resamples is {resamples!r}: it must be at least 100.")


def _errors_to_either_side(
    sums: NDArray[np.float64], sizes: NDArray[np.float64], confidence: float, resamples: int, seed: int
) -> tuple[float, float]:
    """How many standard errors the interval reaches below and above the mean."""
    tail = (1 - confidence) / 2
    student = float(stdtrit(len(sums) - 1, 1 - tail))
    if len(sums) < _FEWEST_RESAMPLED:
        return student, student
    ratios = np.clip(_studentised(sums, sizes, resamples, seed), -_LONGEST * student, _LONGEST * student)
    # means that came out far above what they estimate are why the interval reaches far below, and the reverse
    low, high = np.quantile(ratios, [tail, 1 - tail])
    return max(student, float(high)), max(student, -float(low))


def _studentised(
    sums: NDArray[np.float64], sizes: NDArray[np.float64], resamples: int, seed: int
) -> NDArray[np.float64]:
    """Of each resample, the distance of its mean from the mean over its own standard error."""
    count = len(sums)
    spread = sums - sizes * (sums.sum() / sizes.sum())
    scale = np.abs(spread).max()
    if not scale:
        return np.zeros(resamples)
    spread = spread / scale  # squares of very small or large values would leave the range of float32
    moments = np.stack([spread, sizes, spread**2, spread * sizes, sizes**2], axis=1).astype(np.float32)
    parts = _kept_weights if count * resamples <= _KEPT_DRAWS else _weights
    drawn = np.concatenate([weights @ moments for weights in parts(count, resamples, seed)]).astype(np.float64)
    total, size, squares, products, size_squares = drawn.T
    shift = total / size  # clusters of unlike size change the denominator from draw to draw
    variance = squares - 2 * shift * products + shift**2 * size_squares
    error = np.sqrt(count / (count - 1) * np.maximum(variance, _ROUNDING * squares))
    ratios: NDArray[np.float64] = total / np.where(error > 0, error, 1.0)  # no error: no distance either
    return ratios


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
