"""Bootstrap intervals and clustered standard errors, beside SciPy's and the textbook's."""

import numpy as np
import pytest
from scipy import stats

from eval.statistics import bootstrap, bootstrap_interval, clustered_standard_error
from operators import InputError


def draws(count=60, seed=0):
    return np.random.default_rng(seed).gamma(2.0, 3.0, count)


def student(values, confidence=0.95):
    return stats.ttest_1samp(values, 0).confidence_interval(confidence)


def plain_studentised(values, clusters, confidence=0.95, resamples=6000, seed=9):
    """The textbook's way, one resample at a time: draw clusters, string them together, take the mean and its error."""
    random = np.random.default_rng(seed)
    groups = [values[clusters == label] for label in np.unique(clusters)]
    ratios = []
    for _ in range(resamples):
        drawn = [groups[index] for index in random.integers(0, len(groups), len(groups))]
        copies = np.repeat(np.arange(len(drawn)), [len(group) for group in drawn])  # one drawn twice is two clusters
        joined = np.concatenate(drawn)
        ratios.append((joined.mean() - values.mean()) / clustered_standard_error(joined, copies))
    low, high = np.quantile(ratios, [(1 - confidence) / 2, (1 + confidence) / 2])
    error = clustered_standard_error(values, clusters)
    return values.mean() - high * error, values.mean() - low * error


@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_the_long_side_is_the_studentised_bootstraps_and_the_short_one_students(confidence):
    values = np.exp(draws(60) / 6)  # skewed to the right: the mean may well have missed a large value
    mine = bootstrap_interval(values, confidence=confidence, resamples=20_000)
    low, high = plain_studentised(values, np.arange(60), confidence)
    theirs = student(values, confidence)
    assert low > theirs.low
    assert high > theirs.high + 0.2 * mine.standard_error
    assert mine.high == pytest.approx(high, abs=0.12 * mine.standard_error)
    assert mine.low == pytest.approx(theirs.low)
    assert mine.mean == pytest.approx(values.mean())


def test_data_skewed_to_the_left_are_the_mirror_image():
    values = np.exp(draws(20) / 6)
    there, back = bootstrap_interval(values), bootstrap_interval(-values)
    assert (back.low, back.high) == pytest.approx((-there.high, -there.low))


def test_many_symmetric_values_have_students_interval():
    values = stats.norm.ppf((np.arange(500) + 0.5) / 500)
    mine, theirs = bootstrap_interval(values), student(values)
    assert (mine.low, mine.high) == pytest.approx((theirs.low, theirs.high), rel=0.02)


@pytest.mark.parametrize("values", [[1.0, 2.0], [1.0, 2.0, 9.0]])
def test_two_or_three_values_have_students_interval(values):
    mine, theirs = bootstrap_interval(values), student(values)
    assert (mine.low, mine.high) == pytest.approx((theirs.low, theirs.high))


@pytest.mark.parametrize("values", [[1, 2, 3, 9], [0, 0, 0, 0, 1], [1, 1, 1, 1, 1, 1, 1, 1, 5], [0, 0.999, 1, 1.001]])
def test_a_side_is_never_shorter_than_students_nor_twice_as_long(values):
    mine, theirs = bootstrap_interval(values), student(values)
    for end, other in ((mine.low, theirs.low), (mine.high, theirs.high)):
        assert 1 <= (end - mine.mean) / (other - mine.mean) <= 2 + 1e-9


def test_values_without_spread_have_an_interval_of_no_length():
    for count in (2, 3, 4, 50):
        found = bootstrap_interval(np.full(count, 23.1), np.arange(count))
        assert (found.low, found.high) == pytest.approx((23.1, 23.1))
    assert bootstrap_interval(np.zeros(8)).high == 0.0


@pytest.mark.parametrize("scale", [1e-200, 1e-30, 1e30, 1e200])
def test_very_small_and_large_values_are_no_harder(scale):
    values = draws(12)
    plain, scaled = bootstrap_interval(values), bootstrap_interval(scale * values)
    assert (scaled.low / scale, scaled.high / scale) == pytest.approx((plain.low, plain.high))


def test_the_seed_decides_and_the_order_of_rows_does_not():
    values, clusters = draws(), np.repeat(np.arange(20), 3)
    order = np.random.default_rng(1).permutation(60)
    first = bootstrap_interval(values, clusters, seed=4)
    again = bootstrap_interval(values[order], clusters[order], seed=4)
    assert (again.low, again.high) == pytest.approx((first.low, first.high), rel=1e-6)
    other = bootstrap_interval(values, clusters, seed=5)
    assert (other.low, other.high) != (first.low, first.high)


def test_more_resamples_than_are_kept_give_the_same_interval(monkeypatch):
    values, sizes = draws(40), np.repeat(np.arange(20), 2)
    whole = bootstrap_interval(values, sizes)
    monkeypatch.setattr(bootstrap, "_KEPT_DRAWS", 0)
    parts = bootstrap_interval(values, sizes)
    assert (parts.low, parts.high) == pytest.approx((whole.low, whole.high), rel=1e-6)


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
    sizes = np.random.default_rng(2).integers(1, 6, 12)
    clusters = np.repeat(np.arange(12), sizes)
    values = draws(12, seed=7)[clusters] + draws(len(clusters), seed=8)
    mine = bootstrap_interval(values, clusters, resamples=20_000)
    low, high = plain_studentised(values, clusters)
    reach = stats.t.ppf(0.975, 11) * mine.standard_error
    assert high > mine.mean + 1.1 * reach  # so that the comparison is not one with Student's
    assert mine.high == pytest.approx(high, abs=0.15 * mine.standard_error)
    assert mine.low == pytest.approx(min(low, mine.mean - reach), abs=0.15 * mine.standard_error)
    random = np.random.default_rng(3)
    groups = [values[clusters == g] for g in range(12)]
    means = [np.concatenate([groups[g] for g in random.integers(0, 12, 12)]).mean() for _ in range(5000)]
    assert mine.standard_error == pytest.approx(np.sqrt(12 / 11) * np.std(means), rel=0.05)


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


def test_the_interval_of_a_share_ends_at_0_and_1():
    """23 of 24 motions that miss a key point: the interval of any number reaches above 1, that of a share does not."""
    for values in ([1.0] * 23 + [0.0], [0.0] * 23 + [1.0]):
        plain, share = bootstrap_interval(values), bootstrap_interval(values, share=True)
        assert plain.high > 1 or plain.low < 0
        assert (share.low, share.high) == (max(plain.low, 0.0), min(plain.high, 1.0))
        assert (share.mean, share.standard_error) == (plain.mean, plain.standard_error)
    inside = [0.4, 0.5, 0.6, 0.45, 0.55, 0.5]
    assert bootstrap_interval(inside, share=True) == bootstrap_interval(inside)


def test_none_of_24_may_be_one_in_eight():
    """The largest share that gives 0 of 24 with a probability of 5 % is 1 - 0.05^(1/24); three seeds count once."""
    most = 1 - 0.05 ** (1 / 24)
    assert (1 - most) ** 24 == pytest.approx(0.05)
    none, all_ = bootstrap_interval([0.0] * 24, share=True), bootstrap_interval([1.0] * 24, share=True)
    assert (none.low, none.high) == (0.0, pytest.approx(most))
    assert (all_.low, all_.high) == (pytest.approx(1 - most), 1.0)
    seeds = bootstrap_interval([0.0] * 72, [f"m{number // 3}" for number in range(72)], share=True)
    assert seeds.high == pytest.approx(most)
    half = bootstrap_interval([0.5] * 24, share=True)
    assert (half.low, half.high) == (0.5, 0.5)


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
