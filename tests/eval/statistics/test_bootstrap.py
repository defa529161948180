"""Bootstrap intervals and clustered standard errors, beside SciPy's and the textbook's."""

import numpy as np
import pytest
from scipy import stats

from eval.statistics import bootstrap_interval, clustered_standard_error
from operators import InputError


def draws(count=60, seed=0):
    return np.random.default_rng(seed).gamma(2.0, 3.0, count)


@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_the_interval_agrees_with_scipy(confidence):
    values = draws()
    mine = bootstrap_interval(values, confidence=confidence, resamples=20_000)
    theirs = stats.bootstrap(
        (values,), np.mean, n_resamples=20_000, method="percentile", confidence_level=confidence, rng=1
    )
    error = 0.03 * theirs.standard_error  # the Monte Carlo error of a 2.5 % quantile of 20 000 draws is near 0.018
    assert mine.low == pytest.approx(theirs.confidence_interval.low, abs=2 * error)
    assert mine.high == pytest.approx(theirs.confidence_interval.high, abs=2 * error)
    assert mine.mean == pytest.approx(values.mean())
    assert mine.standard_error == pytest.approx(theirs.standard_error, rel=0.03)


def test_95_percent_intervals_cover_the_truth_as_often_as_they_say():
    random = np.random.default_rng(3)
    found = [bootstrap_interval(random.normal(5, 2, 50), resamples=500, seed=i) for i in range(400)]
    covered = sum(i.low <= 5 <= i.high for i in found) / 400
    assert 0.90 < covered < 0.98


def test_the_seed_decides_and_the_order_of_rows_does_not():
    values, clusters = draws(), np.repeat(np.arange(20), 3)
    order = np.random.default_rng(1).permutation(60)
    first = bootstrap_interval(values, clusters, seed=4)
    again = bootstrap_interval(values[order], clusters[order], seed=4)
    assert (again.low, again.high) == pytest.approx((first.low, first.high), rel=1e-12)
    assert bootstrap_interval(values, clusters, seed=5).low != first.low


def test_repeating_a_seed_adds_nothing():
    values = draws()
    alone = bootstrap_interval(values)
    thrice = bootstrap_interval(np.repeat(values, 3), np.repeat(np.arange(60), 3))
    assert (thrice.low, thrice.high) == pytest.approx((alone.low, alone.high))
    assert thrice.standard_error == pytest.approx(alone.standard_error)
    assert (thrice.count, thrice.clusters) == (180, 60)
    naive = bootstrap_interval(np.repeat(values, 3))
    assert naive.high - naive.low < 0.7 * (alone.high - alone.low)


def test_clusters_of_unlike_size_are_drawn_whole():
    sizes = np.random.default_rng(2).integers(1, 6, 40)
    clusters = np.repeat(np.arange(40), sizes)
    values = draws(40, seed=7)[clusters] + draws(len(clusters), seed=8)
    mine = bootstrap_interval(values, clusters, resamples=20_000)
    # the plain way: draw clusters, string their values together, average
    random = np.random.default_rng(9)
    groups = [values[clusters == g] for g in range(40)]
    means = [np.concatenate([groups[g] for g in random.integers(0, 40, 40)]).mean() for _ in range(5000)]
    low, high = np.quantile(means, [0.025, 0.975])
    assert (mine.low, mine.high) == pytest.approx((low, high), abs=0.08 * np.std(means))
    assert mine.standard_error == pytest.approx(np.std(means), rel=0.05)


def test_the_clustered_error_is_the_textbooks_without_clusters():
    values = draws()
    assert clustered_standard_error(values) == pytest.approx(stats.sem(values))
    assert clustered_standard_error(values, np.arange(60)) == pytest.approx(stats.sem(values))
    assert np.isnan(clustered_standard_error(values, np.zeros(60)))


def test_the_clustered_error_is_the_error_of_cluster_means_where_sizes_agree():
    values, clusters = draws(), np.tile(np.arange(12), 5)
    means = [values[clusters == g].mean() for g in range(12)]
    assert clustered_standard_error(values, clusters) == pytest.approx(stats.sem(means))


def test_values_that_are_not_finite_are_left_out_and_counted():
    values = np.array([1.0, np.nan, 3.0, np.inf, 2.0])
    found = bootstrap_interval(values, ["a", "b", "c", "d", "e"])
    plain = bootstrap_interval([1.0, 3.0, 2.0])
    assert (found.mean, found.count, found.excluded, found.clusters) == (2.0, 3, 2, 3)
    assert (found.low, found.high) == (plain.low, plain.high)


def test_one_value_or_one_cluster_has_a_mean_and_a_reason():
    for found in (bootstrap_interval([4.0]), bootstrap_interval([3.0, 5.0], ["m", "m"])):
        assert found.mean == 4.0
        assert (found.low, found.high, found.standard_error) == (None, None, None)
        assert "tells nothing about the spread" in found.reason


def test_bad_input_is_refused():
    for words, call in {
        "none of 0 is finite": lambda: bootstrap_interval([]),
        "none of 2 is finite": lambda: bootstrap_interval([np.nan, np.inf]),
        "clusters has 1 entries": lambda: bootstrap_interval([1.0, 2.0], ["a"]),
        "one axis": lambda: bootstrap_interval(np.ones((2, 2))),
        "confidence is 1.5": lambda: bootstrap_interval([1.0, 2.0], confidence=1.5),
        "resamples is 3": lambda: bootstrap_interval([1.0, 2.0], resamples=3),
    }.items():
        with pytest.raises(InputError, match=words):
            call()
