"""The distances on features: clean-fid's numbers, closed forms, and what singular covariances do."""

import numpy as np
import pytest
from cleanfid import fid as clean

from eval.distribution import Moments, frechet_distance, kernel_distance
from eval.distribution.distances import squared_mmd
from operators import InputError


def two_sets(n, m, dim=12, seed=0):
    rng = np.random.default_rng(seed)
    mix = rng.normal(size=(dim, dim))
    return rng.normal(size=(n, dim)) @ mix, rng.normal(size=(m, dim)) @ mix * 1.2 + 0.4


def frechet(f, g):
    return frechet_distance(Moments.from_features(f), Moments.from_features(g))


@pytest.mark.parametrize(("n", "m"), [(100, 100), (40, 300)])
def test_frechet_is_clean_fids(n, m):
    f, g = two_sets(n, m)
    assert frechet(f, g) == pytest.approx(clean.fid_from_feats(f, g), rel=1e-9)


def test_frechet_of_few_images_is_clean_fids():
    f, g = two_sets(9, 7, dim=30)  # ranks 8 and 6 of 30: the product is singular
    assert frechet(f, g) == pytest.approx(clean.fid_from_feats(f, g), rel=1e-6)


def test_frechet_of_gaussians_that_commute_has_a_closed_form():
    class Diagonal:
        def __init__(self, mean, deviations):
            self.mean, self.covariance = np.asarray(mean), np.diag(np.square(deviations))

    a, b = Diagonal([1.0, 2.0, 0.0], [3.0, 1.0, 0.0]), Diagonal([0.0, 2.0, 2.0], [1.0, 1.5, 0.0])
    assert frechet_distance(a, b) == pytest.approx(1 + 4 + 4 + 0.25, rel=1e-12)


def test_frechet_of_a_constant_set_is_what_remains():
    f, _ = two_sets(50, 1)
    constant = np.tile(f.mean(axis=0), (5, 1))
    assert frechet(f, constant) == pytest.approx(np.trace(np.cov(f, rowvar=False)), rel=1e-9)


def test_frechet_of_a_set_with_itself_is_zero_and_never_negative():
    f, _ = two_sets(6, 1, dim=40)
    assert 0 <= frechet(f, f) < 1e-9 * np.trace(np.cov(f, rowvar=False))


def test_frechet_falls_with_more_images_of_one_distribution():
    rng = np.random.default_rng(3)
    small, large = (frechet(rng.normal(size=(n, 20)), rng.normal(size=(n, 20))) for n in (40, 2000))
    assert small > 10 * large > 0


def test_kernel_of_the_same_subsets_is_clean_fids():
    f, g = two_sets(80, 50)
    np.random.seed(7)
    theirs = clean.kernel_distance(f, g, num_subsets=9, max_subset_size=20)
    np.random.seed(7)
    values = []
    for _ in range(9):
        rows_g = np.random.choice(50, 20, replace=False)
        rows_f = np.random.choice(80, 20, replace=False)
        values.append(squared_mmd(f[rows_f], g[rows_g]))
    assert np.mean(values) == pytest.approx(theirs, rel=1e-10)


def test_kernel_of_everything_is_clean_fids_whatever_it_draws():
    f, g = two_sets(40, 40)
    assert kernel_distance(f, g) == pytest.approx(clean.kernel_distance(f, g, num_subsets=3), rel=1e-9)


def test_kernel_depends_on_its_seed_alone():
    f, g = two_sets(60, 90)
    np.random.seed(0)
    first = kernel_distance(f, g, subsets=5, subset_size=30, seed=4)
    np.random.seed(1)
    state = np.random.get_state()[1].copy()
    assert kernel_distance(f, g, subsets=5, subset_size=30, seed=4) == first
    assert (np.random.get_state()[1] == state).all()
    assert kernel_distance(f, g, subsets=5, subset_size=30, seed=5) != first


def test_kernel_takes_rows_without_replacement():
    f, g = two_sets(30, 31)
    everything = [squared_mmd(f, np.delete(g, row, axis=0)) for row in range(31)]
    value = kernel_distance(f, g, subsets=1, subset_size=30)
    assert min(abs(value - one) for one in everything) < 1e-9 * abs(value)


def test_kernel_is_unbiased_where_frechet_is_not():
    rng = np.random.default_rng(5)
    values = [kernel_distance(*rng.normal(size=(2, 20, 4))) for _ in range(200)]
    assert abs(np.mean(values)) < 4 * np.std(values) / np.sqrt(200)
    assert min(values) < 0


def test_float32_features_lose_nothing():
    f, g = two_sets(50, 50, dim=64, seed=2)
    f32, g32 = (f + 20).astype(np.float32), (g + 20).astype(np.float32)
    exact = kernel_distance(f32.astype(np.float64), g32.astype(np.float64))
    assert kernel_distance(f32, g32) == exact


def test_sets_that_do_not_fit_are_refused():
    f, g = two_sets(5, 5)
    with pytest.raises(InputError, match="as many"):
        frechet(f, g[:, :-1])
    with pytest.raises(InputError, match=r"\(M, F\)"):
        kernel_distance(f, g[:, :-1])
    with pytest.raises(InputError, match="at least 1 subset of 2 rows"):
        kernel_distance(f, g[:1])
