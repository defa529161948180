"""95 % intervals hold the truth as often as they say, for few measurements too; percentile intervals do not."""

import numpy as np
import pytest

from eval.statistics import bootstrap_interval

TABLES, RESAMPLES = 1500, 1000
ERROR = 3 * np.sqrt(0.95 * 0.05 / TABLES)
DRAW = {
    "normal": (lambda random, shape: random.normal(0, 1, shape), 0.0),
    "skewed": (lambda random, shape: random.lognormal(0, 0.5, shape), np.exp(0.125)),
}


def percentile_interval(values, weights):
    """What was here before: quantiles of resampled means."""
    return np.quantile(weights @ values / len(values), [0.025, 0.975])


@pytest.mark.parametrize("count", [6, 12])
@pytest.mark.parametrize("data", DRAW)
def test_intervals_cover_and_percentiles_would_not(data, count):
    draw, truth = DRAW[data]
    random = np.random.default_rng(count)
    weights = random.multinomial(count, np.full(count, 1 / count), size=RESAMPLES)
    held = percentile = 0
    for values in draw(random, (TABLES, count)):
        found = bootstrap_interval(values, resamples=RESAMPLES)
        held += found.low <= truth <= found.high
        low, high = percentile_interval(values, weights)
        percentile += low <= truth <= high
    # a side is at least Student's, so that a little more than 95 % is meant; never much more
    assert 0.95 - ERROR <= held / TABLES <= 0.97 + ERROR
    assert percentile / TABLES < 0.95 - ERROR


@pytest.mark.parametrize("seeds", [(3, 3), (1, 5)])
def test_intervals_cover_where_a_measurement_has_several_seeds(seeds):
    random = np.random.default_rng(5)
    held = naive = 0
    for _ in range(600):
        names = np.repeat(np.arange(8), random.integers(seeds[0], seeds[1] + 1, 8))
        values = random.normal(0, 1, 8)[names] + random.normal(0, 0.5, len(names))
        for labels in (names, None):
            found = bootstrap_interval(values, labels, resamples=500)
            covered = found.low <= 0 <= found.high
            held, naive = held + (covered and labels is not None), naive + (covered and labels is None)
    assert held / 600 >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 600)
    assert naive / 600 < 0.85
