"""Differences of numbers about whole sets: intervals that cover, a test that is not fooled, and what is refused."""

import numpy as np
import pytest

from eval.embedding_sets import set_frechet
from eval.statistics.set_difference import set_difference
from operators import InputError


def shift(real, own):
    """A set's distance that has a closed form: between means along one axis."""
    return float(abs(own.mean(0)[0] - real.mean(0)[0]))


def sets(seed, offset, count=40, width=3):
    random = np.random.default_rng(seed)
    real = random.normal(size=(count, width))
    return real, real + offset + random.normal(size=real.shape) * 0.5, real + random.normal(size=real.shape) * 0.5


def test_of_means_the_interval_is_that_of_a_paired_mean():
    real, a, b = sets(0, 2.0)
    b += 1.0
    found = set_difference(shift, real, a, b, resamples=100)
    gaps = (a - b)[:, 0]
    assert found.difference == pytest.approx(gaps.mean())
    half = 2.0227 * gaps.std(ddof=1) / np.sqrt(len(gaps))  # t with 39 degrees of freedom
    assert (found.high - found.low) / 2 == pytest.approx(half, rel=1e-4)


def test_a_set_that_is_moved_is_further_and_the_order_only_turns_the_sign():
    real, a, b = sets(1, 1.0)
    found, turned = (set_difference(set_frechet, real, *pair, resamples=200) for pair in ((a, b), (b, a)))
    assert found.low > 0
    assert found.p_value == pytest.approx(1 / 201)
    assert (turned.low, turned.high) == pytest.approx((-found.high, -found.low))
    assert found.of_a == pytest.approx(set_frechet(real, a))


def test_sets_of_one_kind_differ_by_chance_as_often_as_the_test_says():
    few = [set_difference(set_frechet, *sets(seed, 0.0, count=16), resamples=199, seed=seed) for seed in range(40)]
    assert sum(one.p_value < 0.2 for one in few) <= 15
    assert sum(one.low <= 0 <= one.high for one in few) >= 32


def test_the_same_sets_do_not_differ():
    real, a, _ = sets(2, 0.5)
    found = set_difference(set_frechet, real, a, a, resamples=100)
    assert (found.difference, found.low, found.high, found.p_value) == (0, 0, 0, 1)


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        (lambda real, a, b: (real, a[:-1], b), r"sets have shapes \(40, 3\), \(39, 3\) and \(40, 3\)"),
        (lambda real, a, b: (real[:2], a[:2], b[:2]), "N at least 3"),
        (lambda real, a, b: (real, a * np.nan, b), "every value must be finite"),
    ],
)
def test_what_cannot_be_compared(changed, sentence):
    with pytest.raises(InputError, match=sentence):
        set_difference(set_frechet, *changed(*sets(0, 0.0)), resamples=100)
