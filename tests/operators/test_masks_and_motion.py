"""What inpainting keeps and how motion smears."""

import numpy as np
import pytest
import torch
from scipy.ndimage import correlate

from operators import build_operator
from operators.motion_blur import line_kernel


def test_box_is_the_missing_part() -> None:
    op = build_operator("box_inpainting", {"top": 1, "left": 2, "height": 3, "width": 4}, x_shape=(2, 6, 8))
    y = op(torch.ones(1, 2, 6, 8))
    expected = np.ones((2, 6, 8))
    expected[:, 1:4, 2:6] = 0
    np.testing.assert_array_equal(y[0].numpy(), expected)
    assert op.y_shape == (2, 6, 8)
    assert op.measurement_count == 2 * (48 - 12)


@pytest.mark.parametrize("keep", [0.1, 0.3, 1.0])
def test_random_mask_keeps_an_exact_share_in_all_channels(keep: float) -> None:
    op = build_operator("random_inpainting", {"keep": keep, "seed": 3}, x_shape=(3, 20, 10))
    kept = op(torch.ones(1, 3, 20, 10))[0]
    assert int(kept[0].sum()) == round(keep * 200)
    assert torch.equal(kept[0], kept[1])
    assert torch.equal(kept[0], kept[2])
    assert op.measurement_count == 3 * round(keep * 200)


def test_mask_seed_decides_the_mask() -> None:
    def mask(seed: int) -> torch.Tensor:
        return build_operator("random_inpainting", {"seed": seed}, x_shape=(1, 16, 16))(torch.ones(1, 1, 16, 16))

    assert torch.equal(mask(5), mask(5))
    assert not torch.equal(mask(5), mask(6))


def test_missing_pixels_stay_zero_whatever_the_image_holds() -> None:
    op = build_operator("box_inpainting", {"top": 0, "left": 0, "height": 1, "width": 1}, x_shape=(1, 2, 2))
    x = torch.tensor([[[[float("nan"), 1.0], [2.0, 3.0]]]])
    assert op(x)[0, 0].tolist() == [[0.0, 1.0], [2.0, 3.0]]


@pytest.mark.parametrize("angle", [0.0, 20.0, 90.0, 135.0])
def test_motion_blur_is_a_mirror_padded_correlation(angle: float) -> None:
    image = np.random.default_rng(0).normal(size=(3, 20, 30))
    op = build_operator("motion_blur", {"kernel_size": 9, "angle": angle}, x_shape=image.shape)
    expected = np.stack([correlate(channel, line_kernel(9, angle).numpy(), mode="mirror") for channel in image])
    np.testing.assert_allclose(op(torch.from_numpy(image)[None])[0].numpy(), expected, rtol=0, atol=1e-13)


def test_line_kernel_follows_its_angle() -> None:
    flat = torch.zeros(5, 5, dtype=torch.float64)
    flat[2] = 0.2
    assert torch.equal(line_kernel(5, 0.0), flat)
    assert torch.equal(line_kernel(5, 90.0), flat.T)
    rising = line_kernel(5, 45.0)
    assert float(rising[1, 3]) > 0.1 > float(rising[1, 1])
    for angle in np.linspace(0, 360, 37):
        kernel = line_kernel(15, float(angle))
        assert float(kernel.sum()) == pytest.approx(1, abs=1e-12)
        assert float(kernel.min()) >= 0


def test_mask_is_pinned() -> None:
    """A stored measurement holds settings, not the mask: a seed must give it in every later version."""
    op = build_operator("random_inpainting", {"keep": 0.25, "seed": 0}, x_shape=(1, 4, 6))
    assert op(torch.ones(1, 1, 4, 6)).flatten().nonzero().flatten().tolist() == [3, 4, 5, 8, 15, 22]
