"""Inception: found, checked and loaded, or a sentence that says what is missing; never an exception."""

import hashlib
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from eval.distribution import Unavailable, build_distribution, inception, load_extractor, networks, score_distribution


class Layers(nn.Module):
    """As many features as Inception from the same input."""

    def __init__(self):
        super().__init__()
        self.convolution = nn.Conv2d(3, 2, 9, stride=9)

    def forward(self, x):
        return nn.functional.adaptive_avg_pool2d(self.convolution(x), 32).flatten(1)


class Script(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = Layers()

    def forward(self, x):
        return self.layers(x)


@pytest.fixture
def published(tmp_path_factory, monkeypatch):
    """A TorchScript file with the layout of the published one, whose digest is taken for the published digest."""
    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("published") / inception.FILE
    torch.jit.script(Script()).save(str(path))
    monkeypatch.setattr(inception, "SHA256", hashlib.sha256(path.read_bytes()).hexdigest())
    monkeypatch.setattr(networks, "_loaded", {})
    return path


@pytest.fixture
def images():
    return torch.rand(4, 3, 40, 40, generator=torch.Generator().manual_seed(1)) * 2 - 1


@pytest.mark.parametrize("name", ["fid", "kid"])
def test_absent_means_unavailable_with_the_reason(no_weights, images, name):
    result = score_distribution(name, images, images)
    assert result.value is None
    assert inception.FILE in result.unavailable
    assert str(no_weights / "home") in result.unavailable
    assert "G2D2_ALLOW_DOWNLOAD=1" in result.unavailable


def test_absent_means_no_image_is_touched(no_weights):
    def explode():
        raise AssertionError("read an image")
        yield

    assert score_distribution("fid", explode(), explode()).value is None


def test_features_from_elsewhere_need_no_network(no_weights):
    rng = np.random.default_rng(0)
    f, g = rng.normal(size=(2, 30, 8)).astype(np.float32)
    assert build_distribution("fid").distance(f, g).value > 0


@pytest.mark.parametrize("place", ["setting", "environment", "home", "torch"])
def test_found_in_every_place(no_weights, published, images, monkeypatch, place):
    folder = (
        no_weights / {"setting": "mine", "environment": "ours", "home": "home", "torch": "torch/hub/checkpoints"}[place]
    )
    folder.mkdir(parents=True)
    (folder / inception.FILE).write_bytes(published.read_bytes())
    if place == "environment":
        monkeypatch.setenv("G2D2_WEIGHTS", str(folder))
    extractor = load_extractor("inception", weights_dir=folder if place == "setting" else None)
    assert not isinstance(extractor, Unavailable), extractor
    features = extractor(images)
    assert features.shape == (4, extractor.dim) == (4, 2048)
    assert features.dtype == np.float32


def test_network_sees_what_clean_fid_shows_it(no_weights, published, images):
    extractor = load_extractor("inception", weights_dir=published.parent)
    resized = inception.clean_resize(((images + 1) * 127.5).round().to(torch.uint8))
    with torch.no_grad():
        expected = torch.jit.load(str(published)).layers((resized - 128) / 128)
    np.testing.assert_allclose(extractor(images), expected.numpy(), rtol=1e-5, atol=1e-6)


def test_a_batch_equals_its_rows_and_loads_once(no_weights, published, images):
    extractor = load_extractor("inception", weights_dir=published.parent)
    published.unlink()
    assert load_extractor("inception", weights_dir=published.parent) is extractor
    alone = np.concatenate([extractor(image[None]) for image in images])
    np.testing.assert_allclose(extractor(images), alone, rtol=1e-5, atol=1e-6)


def test_what_arrives_later_is_found(no_weights, published):
    folder = no_weights / "home"
    folder.mkdir()
    assert isinstance(load_extractor("inception"), Unavailable)
    published.rename(folder / inception.FILE)
    assert not isinstance(load_extractor("inception"), Unavailable)


def test_a_file_cut_short_is_named_and_not_loaded(no_weights, published):
    cut = no_weights / inception.FILE
    cut.write_bytes(published.read_bytes()[:1000])
    answer = load_extractor("inception", weights_dir=no_weights)
    assert isinstance(answer, Unavailable)
    assert str(cut) in answer.reason
    assert "delete" in answer.reason


def test_another_script_under_the_name_does_not_run(no_weights, images):
    torch.jit.script(Script()).save(str(no_weights / inception.FILE))  # whole, but not the published file
    assert score_distribution("fid", images, images, {"weights_dir": no_weights}).value is None


def test_a_download_arrives_whole_at_its_place(no_weights, published, monkeypatch):
    from cleanfid import downloads_helper

    monkeypatch.setattr(downloads_helper, "inception_url", published.as_uri())
    target = no_weights / "new"
    assert isinstance(inception.find_inception(target), Unavailable)
    assert not target.exists()
    monkeypatch.setenv("G2D2_ALLOW_DOWNLOAD", "1")
    assert inception.find_inception(target) == target / inception.FILE
    assert [path.name for path in target.iterdir()] == [inception.FILE]


def test_a_download_that_fails_or_brings_something_else_leaves_nothing(no_weights, published, monkeypatch):
    from cleanfid import downloads_helper

    monkeypatch.setenv("G2D2_ALLOW_DOWNLOAD", "1")
    target = no_weights / "new"
    for address in ((no_weights / "nowhere.pt").as_uri(), Path(__file__).as_uri()):
        monkeypatch.setattr(downloads_helper, "inception_url", address)
        answer = inception.find_inception(target)
        assert isinstance(answer, Unavailable)
        assert "download" in answer.reason
        assert not list(target.iterdir())
