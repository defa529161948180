"""Which of two sets is nearer to a third by a number about whole sets, such as a Frechet distance, that has no rows."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t

from eval.statistics.bootstrap import check_resampling
from operators import InputError

Features = NDArray[Any]
Distance = Callable[[Features, Features], float]


@dataclass(frozen=True)
class SetDifference:
    """How much further `a` is from the real set than `b`, over rows that belong together."""

    of_a: float
    of_b: float
    low: float
    """Of the 95 % interval of the difference, by the delete-one jackknife over rows."""
    high: float
    p_value: float
    """Two-sided: how often a difference as large comes of dealing each row's two members to the sides at random."""

    @property
    def difference(self) -> float:
        return self.of_a - self.of_b


def set_difference(
    distance: Distance, real: Features, a: Features, b: Features, *, resamples: int = 2000, seed: int = 0
) -> SetDifference:
    """Row i of all three is of one measurement; all are (N, E) and finite.

    Resampling with replacement would repeat rows, which a distance between sets takes for less spread; leaving one
    row out at a time and swapping the members of rows repeat none.
    """
    check_resampling(0.5, resamples)
    count = len(real)
    if not (real.shape == a.shape == b.shape) or real.ndim != 2 or count < 3:
        raise InputError(
            f"sets have shapes {real.shape}, {a.shape} and {b.shape}: they must be the same (N, E), with N at least 3."
        )
    if not all(np.isfinite(one).all() for one in (real, a, b)):
        raise InputError("sets have NaN or infinite values: every value must be finite.")

    def gap(rows: NDArray[Any], swapped: NDArray[Any]) -> float:
        first, second = np.where(swapped[:, None], b, a), np.where(swapped[:, None], a, b)
        return distance(real[rows], first[rows]) - distance(real[rows], second[rows])

    everything, nothing = np.arange(count), np.zeros(count, dtype=bool)
    of_a, of_b = distance(real, a), distance(real, b)
    without = np.array([gap(np.delete(everything, row), nothing) for row in range(count)])
    error = math.sqrt((count - 1) / count * float(((without - without.mean()) ** 2).sum()))
    reach = float(t.ppf(0.975, count - 1)) * error
    random = np.random.default_rng(seed)
    dealt = np.array([gap(everything, random.random(count) < 0.5) for _ in range(resamples)])
    as_large = int((np.abs(dealt) >= abs(of_a - of_b) * (1 - 1e-12)).sum())
    return SetDifference(of_a, of_b, of_a - of_b - reach, of_a - of_b + reach, (1 + as_large) / (1 + resamples))
