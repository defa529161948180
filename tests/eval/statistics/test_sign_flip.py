"""The sign-flip test beside SciPy's permutation test, and its claims."""

import numpy as np
import pytest
from scipy import stats

from eval.statistics import sign_flip_p_value
from operators import InputError


def theirs(differences, resamples):
    return stats.permutation_test(
        (differences,), np.mean, permutation_type="samples", n_resamples=resamples, vectorized=True, rng=3
    ).pvalue


@pytest.mark.parametrize("seed", range(5))
def test_few_clusters_give_scipys_exact_p(seed):
    differences = np.random.default_rng(seed).normal(0.4, 1, 10)
    assert sign_flip_p_value(differences) == pytest.approx(theirs(differences, np.inf), abs=1e-15)


@pytest.mark.parametrize("shift", [0.0, 0.2, 0.35])
def test_many_clusters_give_scipys_p_within_monte_carlo_error(shift):
    differences = np.random.default_rng(1).normal(shift, 1, 80)
    mine, other = sign_flip_p_value(differences, resamples=40_000), theirs(differences, 40_000)
    assert mine == pytest.approx(other, abs=6 * np.sqrt(max(other, 1e-4) / 40_000) + 1e-4)


def test_whole_clusters_are_flipped():
    differences = np.random.default_rng(2).normal(0.4, 1, 10)
    exact = sign_flip_p_value(differences)
    repeated = sign_flip_p_value(np.repeat(differences, 4), np.repeat(np.arange(10), 4))
    assert repeated == pytest.approx(exact)
    assert sign_flip_p_value(np.repeat(differences, 4)) < exact / 2


def test_ties_are_counted_on_both_sides():
    assert sign_flip_p_value(np.zeros(5)) == 1.0
    assert sign_flip_p_value(np.zeros(500)) == 1.0
    assert sign_flip_p_value([0.1 + 0.2, -0.3]) == 1.0  # equal but for rounding
    assert sign_flip_p_value([0.1] * 6) == pytest.approx(2 / 64)


def test_what_draws_cannot_resolve_gets_a_bound_that_is_never_too_small():
    # all signs equal: exactly one of 2^n outcomes on each side, and the bound is met
    assert sign_flip_p_value(np.ones(60)) == pytest.approx(2 / 2.0**60, rel=1e-3)
    # the true tail of 40 fair signs of one size is binomial
    for agree in (36, 38, 39):
        values = np.r_[np.ones(agree), -np.ones(40 - agree)]
        true = 2 * stats.binom.sf(agree - 1, 40, 0.5)
        p = sign_flip_p_value(values, resamples=1000)
        assert true <= p <= 20 * true


def test_a_small_p_is_drawn_finer():
    values = np.r_[np.ones(29), -np.ones(11)]
    true = 2 * stats.binom.sf(28, 40, 0.5)
    assert 0.005 < true < 0.01
    p = sign_flip_p_value(values, resamples=1000)
    assert p == pytest.approx(true, rel=0.4)
    assert (p * 10_001 / 2) % 1 == pytest.approx(0, abs=1e-6)  # a count among ten thousand


def test_it_is_seeded_and_symmetric():
    differences = np.random.default_rng(4).normal(0.1, 1, 50)
    assert sign_flip_p_value(differences, seed=1) == sign_flip_p_value(differences, seed=1)
    assert sign_flip_p_value(differences, seed=1) != sign_flip_p_value(differences, seed=2)
    assert sign_flip_p_value(-differences) == pytest.approx(sign_flip_p_value(differences), rel=0.1)


def test_p_is_uniform_where_nothing_differs_whatever_the_noise():
    random = np.random.default_rng(5)
    heavy = random.standard_t(1.5, (600, 40))  # infinite variance
    p = np.array([sign_flip_p_value(row, resamples=500, seed=i) for i, row in enumerate(heavy)])
    for alpha in (0.05, 0.2, 0.5):
        assert (p <= alpha).mean() == pytest.approx(alpha, abs=4 * np.sqrt(alpha * (1 - alpha) / 600))


def test_bad_input_is_refused():
    for bad in ([], [1.0, np.nan]):
        with pytest.raises(InputError, match="must be finite"):
            sign_flip_p_value(bad)
