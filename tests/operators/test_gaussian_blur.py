"""The blur against scipy, and the shape of its kernel."""

import numpy as np
import pytest
import torch
from scipy.ndimage import gaussian_filter, gaussian_filter1d

from operators import InputError, build_operator


@pytest.mark.parametrize(
    ("size", "kernel_size", "std"),
    [((40, 56), 61, 3.0), ((32, 32), 9, 1.0), ((17, 23), 33, 2.4), ((8, 8), 3, 0.2)],
)
def test_agrees_with_scipy(size: tuple[int, int], kernel_size: int, std: float) -> None:
    image = np.random.default_rng(0).normal(size=(3, *size))
    op = build_operator("gaussian_blur", {"kernel_size": kernel_size, "std": std}, x_shape=image.shape)
    expected = np.stack([gaussian_filter(channel, std, mode="mirror", truncate=4.0) for channel in image])
    np.testing.assert_allclose(op(torch.from_numpy(image)[None])[0].numpy(), expected, rtol=0, atol=1e-13)


def test_paper_kernel_is_the_filtered_delta() -> None:
    op = build_operator("gaussian_blur", {"kernel_size": 61, "std": 3.0}, x_shape=(1, 128, 128))
    delta = torch.zeros(1, 1, 128, 128, dtype=torch.float64)
    delta[..., 64, 64] = 1
    response = op(delta)[0, 0]
    filtered = gaussian_filter(np.eye(1, 61, 30)[0].reshape(61, 1) * np.eye(1, 61, 30), 3.0)
    np.testing.assert_allclose(response[34:95, 34:95].numpy(), filtered, rtol=0, atol=1e-15)
    assert int((response[64] > 0).sum()) == 25


def test_cut_kernel_is_renormalised() -> None:
    op = build_operator("gaussian_blur", {"kernel_size": 5, "std": 3.0}, x_shape=(1, 16, 16))
    delta = torch.zeros(1, 1, 16, 16, dtype=torch.float64)
    delta[..., 8, 8] = 1
    taps = op(delta)[0, 0].sum(0)[6:11]
    full = gaussian_filter1d(np.eye(1, 61, 30)[0], 3.0)[28:33]
    np.testing.assert_allclose(taps.numpy(), full / full.sum(), rtol=0, atol=1e-15)
    flat = torch.full((1, 1, 16, 16), 0.7, dtype=torch.float64)
    torch.testing.assert_close(op(flat), flat, rtol=0, atol=1e-14)


def test_only_the_non_zero_taps_must_fit_the_image() -> None:
    build_operator("gaussian_blur", {"kernel_size": 61, "std": 3.0}, x_shape=(1, 13, 13))
    with pytest.raises(InputError, match=r"kernel_size 61 with std 3\.0 reaches 12 .* at most 11\.$"):
        build_operator("gaussian_blur", {"kernel_size": 61, "std": 3.0}, x_shape=(1, 64, 12))


@pytest.mark.parametrize("std", [1e-200, 1e308])
def test_extreme_std_gives_finite_taps(std: float) -> None:
    op = build_operator("gaussian_blur", {"kernel_size": 5, "std": std}, x_shape=(1, 8, 8))
    assert bool(torch.isfinite(op(torch.rand(1, 1, 8, 8))).all())
