"""Moments of features: equal to numpy's, the same however the rows are split, whole after a trip through Parquet."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from eval.distribution import Moments
from operators import InputError


@pytest.fixture
def features():
    rng = np.random.default_rng(0)
    return (rng.normal(size=(60, 9)) * np.geomspace(0.01, 100, 9) + 30).astype(np.float32)


def test_mean_and_covariance_are_numpys(features):
    moments = Moments.from_features(features)
    assert moments.count == 60
    np.testing.assert_allclose(moments.mean, features.astype(np.float64).mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(
        moments.covariance, np.cov(features.astype(np.float64), rowvar=False), rtol=1e-10, atol=1e-12
    )


@pytest.mark.parametrize("seed", range(5))
def test_any_partition_in_any_order_gives_the_same(features, seed):
    rng = np.random.default_rng(seed)
    cuts = np.sort(rng.choice(np.arange(61), size=7))  # some parts may be empty
    parts = [Moments.from_features(part) for part in np.split(features[rng.permutation(60)], cuts)]
    merged = Moments.merged([parts[index] for index in rng.permutation(len(parts))])
    whole = Moments.from_features(features)
    assert merged.count == 60
    np.testing.assert_allclose(merged.mean, whole.mean, rtol=1e-10)
    scale = np.sqrt(np.outer(np.diag(whole.scatter), np.diag(whole.scatter)))
    assert (np.abs(merged.scatter - whole.scatter) / scale).max() < 1e-10


def test_merging_is_associative_as_a_tree(features):
    a, b, c = (Moments.from_features(part) for part in np.split(features, [1, 40]))
    left, right = a.merge(b).merge(c), a.merge(b.merge(c))
    np.testing.assert_allclose(left.scatter, right.scatter, rtol=1e-10, atol=1e-10)


def test_a_large_offset_costs_no_precision():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(200, 3))
    far = [Moments.from_features(part) for part in np.split(rows + 1e6, 20)]
    np.testing.assert_allclose(Moments.merged(far).covariance, np.cov(rows, rowvar=False), rtol=1e-6, atol=1e-8)


def test_empty_is_neutral(features):
    whole = Moments.from_features(features)
    for merged in (Moments.empty(9).merge(whole), whole.merge(Moments.empty(9))):
        assert merged.count == 60
        np.testing.assert_array_equal(merged.scatter, whole.scatter)


def test_rows_that_are_not_finite_are_counted_apart(features):
    spoilt = features.copy()
    spoilt[3, 2], spoilt[10, 0] = np.nan, np.inf
    moments = Moments.from_features(spoilt[:20]).merge(Moments.from_features(spoilt[20:]))
    assert (moments.count, moments.left_out) == (58, 2)
    clean = Moments.from_features(np.delete(features, [3, 10], axis=0))
    np.testing.assert_allclose(moments.mean, clean.mean, rtol=1e-12)


def test_through_a_parquet_file(features, tmp_path):
    parts = [Moments.from_features(part) for part in np.split(features, [7, 31])]
    rows = [{key: array.tolist() for key, array in part.to_arrays().items()} for part in parts]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "moments.parquet")
    back = [Moments.from_arrays(row) for row in pq.read_table(tmp_path / "moments.parquet").to_pylist()]
    for before, after in zip(parts, back, strict=True):
        assert after.count == before.count
        np.testing.assert_array_equal(after.mean, before.mean)
        np.testing.assert_allclose(after.scatter, before.scatter, rtol=1e-15)


def test_arrays_that_do_not_fit_are_refused(features):
    arrays = Moments.from_features(features).to_arrays()
    with pytest.raises(InputError, match="scatter"):
        Moments.from_arrays({**arrays, "scatter": arrays["scatter"][:-1]})
    with pytest.raises(InputError, match="count"):
        Moments.from_arrays({**arrays, "count": -1})
    with pytest.raises(InputError, match="mean"):
        Moments.from_arrays({key: value for key, value in arrays.items() if key != "mean"})


def test_what_cannot_be_merged_or_summarised_is_refused(features):
    whole = Moments.from_features(features)
    with pytest.raises(InputError, match="4 features"):
        whole.merge(Moments.empty(4))
    with pytest.raises(InputError, match="at least 2 rows"):
        _ = Moments.from_features(features[:1]).covariance
    with pytest.raises(InputError, match="no parts"):
        Moments.merged([])
    with pytest.raises(InputError, match="float"):
        Moments.from_features(features.astype(int))
