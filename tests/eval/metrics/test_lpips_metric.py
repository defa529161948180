"""LPIPS: the numbers of the `lpips` package itself, and features of ground truths computed once."""

from types import SimpleNamespace
from unittest.mock import patch

import lpips
import pytest
import torch
from skimage import data

from eval.metrics import Scored, build_metric
from eval.weights import find_weights, load_backbone
from operators import InputError

BACKBONES = {"vgg": "vgg16", "alex": "alexnet"}


def photographs(side, count=3):
    picture = torch.from_numpy(data.astronaut()).permute(2, 0, 1).float() / 127.5 - 1
    truth = torch.stack([picture[:, 60 * i : 60 * i + side, 150 : 150 + side] for i in range(count)])
    noise = torch.randn(truth.shape, generator=torch.Generator().manual_seed(0))
    return truth, (truth + 0.3 * noise).clamp(-1, 1)


def package_model(net, features):
    """`lpips.LPIPS` as it builds itself, where torchvision hands it these features."""
    torchvision = SimpleNamespace(**{BACKBONES[net]: lambda pretrained: SimpleNamespace(features=features)})
    with patch.object(lpips.pretrained_networks, "tv", torchvision):
        return lpips.LPIPS(net=net, verbose=False)


@pytest.fixture
def random_alexnet(tmp_path, monkeypatch):
    """A folder with random AlexNet weights, so that the metric is tested where no real ones are."""
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "torch"))
    from torchvision.models import alexnet

    with torch.random.fork_rng():
        torch.manual_seed(0)
        torch.save(alexnet(weights=None).features.state_dict(), tmp_path / "alexnet.pth")
    return str(tmp_path)


def real(net):
    try:
        find_weights(BACKBONES[net], allow_download=False)
    except InputError as error:
        pytest.skip(str(error))
    return build_metric(f"lpips_{net}")


@pytest.mark.parametrize("side", [32, 64])
@pytest.mark.parametrize("net", ["vgg", "alex"])
def test_real_weights_give_the_packages_numbers(net, side):
    metric = real(net)
    truth, images = photographs(side)
    with torch.no_grad():
        expected = package_model(net, load_backbone(BACKBONES[net]))(truth, images).flatten()
    values = metric(Scored(truth, images))
    assert values.tolist() == pytest.approx(expected.tolist(), rel=1e-5)
    assert values.min() > 0.001


def test_random_weights_give_the_packages_numbers(random_alexnet):
    metric = build_metric("lpips_alex", {"weights_dir": random_alexnet})
    truth, images = photographs(48)
    with torch.no_grad():
        expected = package_model("alex", load_backbone("alexnet", weights_dir=random_alexnet))(truth, images).flatten()
    assert metric(Scored(truth, images)).tolist() == pytest.approx(expected.tolist(), rel=1e-5)
    grey = metric(Scored(truth[:, :1], images[:, :1]))
    assert grey.tolist() == pytest.approx(
        metric(Scored(truth[:, :1].expand(-1, 3, -1, -1), images[:, :1].expand(-1, 3, -1, -1))).tolist()
    )


def test_building_uses_no_random_numbers(random_alexnet):
    before = torch.random.get_rng_state()
    build_metric("lpips_alex", {"weights_dir": random_alexnet})
    assert torch.equal(torch.random.get_rng_state(), before)


def test_a_truth_is_computed_once_per_key(random_alexnet):
    metric = build_metric("lpips_alex", {"weights_dir": random_alexnet})
    truth, images = photographs(32, 2)
    grid = torch.cat([images * factor for factor in (1.0, 0.9, 0.8)])  # three grid points of two pictures
    values = metric(Scored(truth.repeat(3, 1, 1, 1), grid, truth_keys=["a", "b"] * 3))
    assert metric.truths.computed == 2
    again = metric(Scored(truth, grid[4:], truth_keys=["a", "b"]))
    assert metric.truths.computed == 2
    assert again.tolist() == pytest.approx(values[4:].tolist(), rel=1e-5)
    other = metric(Scored(images, images, truth_keys=["a", "b"]))  # the same keys for other pixels
    assert metric.truths.computed == 4
    assert other.abs().max() < 1e-9


def test_values_stay_in_the_order_of_the_rows(random_alexnet):
    metric = build_metric("lpips_alex", {"weights_dir": random_alexnet})
    truth, images = photographs(32)
    order = [2, 0, 1]
    plain = metric(Scored(truth, images))
    keyed = metric(Scored(truth[order], images[order], truth_keys=["z", "a", "m"]))
    assert keyed.tolist() == pytest.approx(plain[order].tolist(), rel=1e-5)


@pytest.mark.parametrize("cache_mb", [0, 4])
def test_more_truths_than_the_cache_holds_are_still_computed_once_per_batch(random_alexnet, cache_mb):
    metric = build_metric("lpips_alex", {"weights_dir": random_alexnet, "cache_mb": cache_mb})
    truth = torch.rand(4, 3, 256, 256, generator=torch.Generator().manual_seed(0)) * 2 - 1
    values = metric(Scored(truth.repeat(3, 1, 1, 1), -truth.repeat(3, 1, 1, 1), truth_keys=["a", "b", "c", "d"] * 3))
    assert values[:4].tolist() == pytest.approx(values[8:].tolist(), rel=1e-5)
    # four rows are computed at once: without a cache, the triples that lie in two parts are computed twice
    assert metric.truths.computed == (6 if cache_mb == 0 else 4)


def test_pictures_that_cannot_be_scored_are_refused(random_alexnet):
    metric = build_metric("lpips_alex", {"weights_dir": random_alexnet})
    least = torch.zeros(1, 3, 31, 31)
    assert torch.isfinite(metric(Scored(least, least))).all()
    with pytest.raises(InputError, match="images are 64x30: they must be at least 31x31"):
        metric(Scored(torch.zeros(1, 3, 30, 64), torch.zeros(1, 3, 30, 64)))
    with pytest.raises(InputError, match="have 4 channels"):
        metric(Scored(torch.zeros(1, 4, 32, 32), torch.zeros(1, 4, 32, 32)))


def test_vggs_least_side():
    metric = real("vgg")
    assert torch.isfinite(metric(Scored(torch.zeros(1, 3, 16, 16), torch.ones(1, 3, 16, 16)))).all()
    with pytest.raises(InputError, match="at least 16x16"):
        metric(Scored(torch.zeros(1, 3, 15, 16), torch.ones(1, 3, 15, 16)))
