"""Published statistics by data-set name: read where clean-fid keeps them, equal to what clean-fid makes of them."""

import cleanfid
import numpy as np
import pytest
from cleanfid.features import get_reference_statistics
from cleanfid.fid import frechet_distance as clean_frechet

from eval.distribution import build_distribution, kernel_distance, references
from operators import InputError

REFERENCE = {"reference": "FFHQ/256/trainval"}


@pytest.fixture
def features():
    return np.random.default_rng(0).normal(size=(2, 40, 5))


@pytest.fixture
def stats(no_weights, monkeypatch, features):
    """clean-fid's folder of statistics, with what it publishes for one data set."""
    folder = no_weights / "cleanfid" / "stats"
    folder.mkdir(parents=True)
    monkeypatch.setattr(cleanfid, "__file__", str(folder.parent / "__init__.py"))
    truth = features[0]
    np.savez(folder / "ffhq_clean_trainval_256.npz", mu=truth.mean(axis=0), sigma=np.cov(truth, rowvar=False))
    np.savez(folder / "ffhq_clean_trainval_256_kid.npz", feats=truth)
    return folder


def test_fid_is_clean_fids(stats, features):
    ours = features[1] * 1.3
    mu, sigma = get_reference_statistics("FFHQ", 256, split="trainval")
    theirs = clean_frechet(ours.mean(axis=0), np.cov(ours, rowvar=False), mu, sigma)
    result = build_distribution("fid", REFERENCE).distance(None, ours)
    assert result.value == pytest.approx(theirs, rel=1e-9)
    assert (result.reference, result.count_truth, result.count_images) == ("FFHQ/256/trainval", None, 40)


def test_kid_reads_the_features_file(stats, features):
    published = get_reference_statistics("FFHQ", 256, split="trainval", metric="KID")
    result = build_distribution("kid", REFERENCE).distance(None, features[1])
    assert result.value == kernel_distance(published, features[1])
    assert result.count_truth == 40


def test_a_folder_of_the_users_works_too(stats, features, monkeypatch):
    elsewhere = stats.parents[1] / "mine"
    stats.rename(elsewhere)
    settings = {**REFERENCE, "weights_dir": elsewhere}
    assert build_distribution("fid", REFERENCE).distance(None, features[1]).value is None
    assert build_distribution("fid", settings).distance(None, features[1]).value > 0


@pytest.mark.parametrize("name", ["fid", "kid"])
def test_absent_means_unavailable_with_the_reason(no_weights, features, name):
    result = build_distribution(name, {"reference": "nothing/64/test"}).distance(None, features[1])
    assert result.value is None
    assert "nothing/64/test" in result.unavailable
    assert "G2D2_ALLOW_DOWNLOAD=1" in result.unavailable


def test_a_download_goes_to_clean_fids_folder(stats, features, monkeypatch, capsys):
    server = stats.parents[1] / "server"
    server.mkdir()
    (stats / "ffhq_clean_trainval_256.npz").rename(server / "ffhq_clean_trainval_256.npz")
    monkeypatch.setattr(references, "_URL", server.as_uri() + "/")
    monkeypatch.setenv("G2D2_ALLOW_DOWNLOAD", "1")
    assert build_distribution("fid", REFERENCE).distance(None, features[1]).value > 0
    assert sorted(path.name for path in stats.iterdir()) == [
        "ffhq_clean_trainval_256.npz",
        "ffhq_clean_trainval_256_kid.npz",
    ]
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("content", [b"", b"half a file", None])
def test_a_file_that_cannot_be_read_is_named(stats, features, content):
    path = stats / "ffhq_clean_trainval_256.npz"
    if content is None:
        np.savez(path, mu=features)  # whole, but without what is needed
    else:
        path.write_bytes(content)
    result = build_distribution("fid", REFERENCE).distance(None, features[1])
    assert str(path) in result.unavailable


def test_pickles_are_not_read(stats, features):
    path = stats / "ffhq_clean_trainval_256_kid.npz"
    np.savez(path, feats=np.array([{"a": 1}], dtype=object))
    assert build_distribution("kid", REFERENCE).distance(None, features[1]).value is None


def test_ground_truths_beside_a_reference_are_refused(features):
    with pytest.raises(InputError, match="must not be given as well"):
        build_distribution("fid", REFERENCE).distance(features[0], features[1])
