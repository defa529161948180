"""How often a 95 % interval of a mean holds the truth, beside the percentile bootstrap's.

Not a matter of speed, but of the same kind: a property that is measured, by a command that anyone can run again.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from bench.registry import Effort, Ratio, stands_for
from eval.statistics import bootstrap_interval

_TABLES = {"quick": 5, "normal": 1000, "full": 2000}
_RESAMPLES = 2000
_MEASUREMENTS = (2, 3, 4, 6, 12, 30, 128)
Draw = Callable[[np.random.Generator, int], NDArray[np.float64]]
_DATA: dict[str, tuple[Draw, float]] = {
    "normal": (lambda random, count: random.normal(0, 1, count), 0.0),
    "lognormal": (lambda random, count: random.lognormal(0, 0.5, count), float(np.exp(0.125))),
    "exponential": (lambda random, count: random.exponential(1, count), 1.0),
    "heavy": (lambda random, count: random.standard_t(3, count), 0.0),
}
"""What measurements and seeds are drawn from, and its mean; `lognormal` has a skewness of 1.75, `exponential` of 2."""
_ENOUGH = (6, 12, 30, 128)
"""Measurements from which on an interval is meant to hold what it promises, whatever the data."""
_SEEDS = {"1": (1, 1), "3": (3, 3), "1 to 5": (1, 5)}


@stands_for(
    Ratio("covered, from 6 measurements on", "covered", 94, unit="%", where={"measurements": _ENOUGH}, over="mean"),
    Ratio("covered, the worst of them", "covered", 91, unit="%", where={"measurements": _ENOUGH}, over="lowest"),
)
def run(effort: Effort) -> list[dict[str, Any]]:
    """Per cent of tables covered, by distribution, seeds and measurements; `width` is the median over Student's."""
    random = np.random.default_rng(7)
    tables = _TABLES[effort.level]
    rows = []
    for seeds, (fewest, most) in _SEEDS.items():
        for data, (draw, truth) in _DATA.items():
            for count in _MEASUREMENTS:
                held, percentile, widths = 0, 0, []
                for _ in range(tables):
                    names = np.repeat(np.arange(count), random.integers(fewest, most + 1, count))
                    # a solver's seeds differ less than images do
                    values = draw(random, count)[names] + 0.7 * (draw(random, len(names)) - truth) * (most > 1)
                    found = bootstrap_interval(values, names, resamples=_RESAMPLES)
                    assert found.low is not None
                    assert found.high is not None
                    assert found.standard_error is not None
                    held += found.low <= truth <= found.high
                    widths.append((found.high - found.low) / found.standard_error)
                    low, high = _percentiles(values, names, count)
                    percentile += low <= truth <= high
                rows.append(
                    {
                        "data": data, "seeds": seeds, "measurements": count, "tables": tables,
                        "covered": 100 * held / tables, "percentile": 100 * percentile / tables,
                        "width": float(np.median(widths) / (2 * stdtrit(count - 1, 0.975))),
                    }
                )  # fmt: skip
    return rows


def _percentiles(values: NDArray[np.float64], names: NDArray[np.int64], count: int) -> tuple[float, float]:
    """The interval that was used before: quantiles of the means of resampled measurements."""
    weights = _drawn(count)
    means = (weights @ np.bincount(names, values)) / (weights @ np.bincount(names).astype(np.float64))
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)


@lru_cache(maxsize=1)
def _drawn(count: int) -> NDArray[np.float64]:
    drawn = np.random.default_rng(0).multinomial(count, np.full(count, 1 / count), size=_RESAMPLES)
    return drawn.astype(np.float64)
