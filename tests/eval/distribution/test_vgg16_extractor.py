"""VGG16 features with the real weights: each row by itself, in the range and of the layer the docs state."""

import numpy as np
import pytest
import torch
from torch.nn import functional

from eval.distribution import Unavailable, load_extractor, score_distribution
from eval.distribution.vgg16 import normalise
from eval.weights import load_backbone


@pytest.fixture(scope="module")
def vgg16():
    extractor = load_extractor("vgg16")
    if isinstance(extractor, Unavailable):
        pytest.skip(extractor.reason)
    return extractor


@pytest.fixture(scope="module")
def batch(tensors):
    return torch.stack([image for image in tensors[1] if image.shape[-1] == 32][:4])


@pytest.fixture(scope="module")
def features(vgg16, batch):
    return vgg16(batch)


def test_a_batch_equals_its_rows(vgg16, batch, features):
    assert features.shape == (4, vgg16.dim) == (4, 512)
    assert features.dtype == np.float32
    alone = np.concatenate([vgg16(image[None]) for image in batch])
    np.testing.assert_allclose(features, alone, rtol=1e-5, atol=1e-5 * features.max())
    assert np.abs(features[0] - features[1]).max() > 0.01 * features.max()


@pytest.mark.slow
def test_sixty_four_rows_equal_sixty_four_batches(vgg16, tensors):
    rows = torch.stack([image for side in tensors for image in side if image.shape[-1] == 32])
    rows = torch.cat([rows, rows.flip(-1), rows.flip(-2)])[:64]
    assert len(rows) == 64
    alone = np.concatenate([vgg16(image[None]) for image in rows])
    np.testing.assert_allclose(vgg16(rows), alone, rtol=1e-5, atol=1e-5 * alone.max())


def test_it_is_the_mean_of_the_last_rectified_convolution(batch, features):
    network = load_backbone("vgg16")
    shown = functional.interpolate((batch[:1] + 1) / 2, (224, 224), mode="bicubic", antialias=True).clamp(0, 1)
    mean, std = (torch.tensor(v)[:, None, None] for v in ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)))
    x = (shown - mean) / std
    with torch.no_grad():
        for layer in list(network)[:30]:
            x = layer(x)
    np.testing.assert_allclose(features[:1], x.mean(dim=(2, 3)).numpy(), rtol=1e-4, atol=1e-5 * features.max())


def test_shrinking_does_not_alias():
    stripes = torch.zeros(1, 3, 448, 448, dtype=torch.uint8)
    stripes[..., ::2] = 255
    middle = normalise(stripes)[..., 8:-8, 8:-8]
    assert middle.std(dim=(2, 3)).max() < 1e-3  # grey: plain bicubic would leave stripes or pick one colour


def test_an_image_that_is_not_finite_has_no_features_and_spoils_no_other(vgg16, batch, features):
    spoilt = batch[:2].clone()
    spoilt[0, 1, 5, 5] = float("nan")
    rows = vgg16(spoilt)
    assert np.isnan(rows[0]).all()
    np.testing.assert_allclose(rows[1], features[1], rtol=1e-5, atol=1e-5 * features.max())


def test_it_loads_once(vgg16):
    assert load_extractor("vgg16") is vgg16


def test_absent_means_unavailable_with_the_reason(no_weights):
    result = score_distribution("fd_vgg16", [], [], {"weights_dir": no_weights / "nowhere"})
    assert result.value is None
    assert result.unavailable.startswith("weights_dir is ")
