"""PSNR and SSIM against scikit-image, on photographs."""

import numpy as np
import pytest
import torch
from skimage import data
from skimage.metrics import peak_signal_noise_ratio, structural_similarity

from eval.metrics import Scored, build_metric
from operators import InputError


@pytest.fixture(scope="module")
def pairs():
    """Pieces of a photograph, unlike in content, with noise of growing strength: (B, 3, 40, 56) in [-1, 1]."""
    photograph = torch.from_numpy(data.astronaut()).permute(2, 0, 1).float() / 127.5 - 1
    truth = torch.stack([photograph[:, top : top + 40, 100:156] for top in (0, 100, 200, 300)])
    noise = torch.randn(truth.shape, generator=torch.Generator().manual_seed(0))
    return truth, truth + noise * torch.tensor([0.01, 0.1, 0.3, 1.0])[:, None, None, None]


def unit(images):
    return ((images.double().clamp(-1, 1) + 1) / 2).permute(0, 2, 3, 1).numpy()


def reference(function, truth, images, **options):
    return [function(a, b, data_range=1, **options) for a, b in zip(unit(truth), unit(images), strict=True)]


def test_psnr_is_scikit_images(pairs):
    expected = reference(peak_signal_noise_ratio, *pairs)
    assert build_metric("psnr")(Scored(*pairs)).tolist() == pytest.approx(expected, rel=1e-12)
    assert expected[0] > 30 > 12 > expected[-1]


def test_psnr_8bit_is_that_of_the_stored_bytes(pairs):
    truth, images = (np.rint((part.clamp(-1, 1).numpy() + np.float32(1)) * np.float32(127.5)) for part in pairs)
    expected = [peak_signal_noise_ratio(a / 255, b / 255, data_range=1) for a, b in zip(truth, images, strict=True)]
    ours = build_metric("psnr_8bit")(Scored(*pairs)).tolist()
    assert ours == pytest.approx(expected, rel=1e-6)
    assert ours != build_metric("psnr")(Scored(*pairs)).tolist()


def test_identical_images_are_infinitely_good(pairs):
    truth = pairs[0]
    nearly = truth + 1e-4
    assert torch.isposinf(build_metric("psnr")(Scored(truth, truth))).all()
    assert torch.isposinf(build_metric("psnr_8bit")(Scored(truth, nearly))).all()
    assert torch.isfinite(build_metric("psnr")(Scored(truth, nearly))).all()
    assert build_metric("ssim")(Scored(truth, truth)).tolist() == pytest.approx([1.0] * 4)


@pytest.mark.parametrize("channels", [1, 3])
def test_ssim_is_scikit_images(pairs, channels):
    truth, images = (part[:, :channels] for part in pairs)
    published = {"gaussian_weights": True, "sigma": 1.5, "use_sample_covariance": False, "channel_axis": -1}
    expected = reference(structural_similarity, truth, images, **published)
    assert build_metric("ssim")(Scored(truth, images)).tolist() == pytest.approx(expected, rel=1e-10)
    expected = reference(structural_similarity, truth, images, channel_axis=-1)
    uniform = build_metric("ssim", {"window": "uniform"})
    assert uniform(Scored(truth, images)).tolist() == pytest.approx(expected, rel=1e-10)


def test_ssim_of_a_large_batch_is_taken_in_parts():
    truth = torch.rand(3, 1, 512, 520, generator=torch.Generator().manual_seed(0)) * 2 - 1
    images = truth.roll(1, -1)
    together = build_metric("ssim")(Scored(truth, images))
    assert together.tolist() == pytest.approx(
        [float(build_metric("ssim")(Scored(truth[i : i + 1], images[i : i + 1]))) for i in range(3)], rel=1e-12
    )


@pytest.mark.parametrize(("window", "side"), [("gaussian", 11), ("uniform", 7)])
def test_images_below_the_window_are_refused(window, side):
    metric = build_metric("ssim", {"window": window})
    assert metric(Scored(torch.zeros(1, 1, side, side), torch.zeros(1, 1, side, side))).tolist() == pytest.approx([1])
    with pytest.raises(InputError, match=f"images are {side - 1}x{side}: they must be at least {side}x{side}"):
        metric(Scored(torch.zeros(1, 1, side, side - 1), torch.zeros(1, 1, side, side - 1)))
