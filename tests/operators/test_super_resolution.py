"""The bicubic resizer against two constructions that share no code with it."""

import numpy as np
import pytest
import torch
from PIL import Image

from operators import build_operator
from operators.super_resolution import bicubic_matrix


def keys(x: float) -> float:
    """The cubic with a = -0.5 as polynomials with their coefficients multiplied out."""
    x = abs(x)
    if x < 1:
        return 1 - 2.5 * x**2 + 1.5 * x**3
    if x < 2:
        return 2 - 4 * x + 2.5 * x**2 - 0.5 * x**3
    return 0.0


def padded_then_weighted(size: int, factor: int) -> np.ndarray:
    """Resize each unit vector: pad it with numpy, then slide the 4 * factor taps over it pixel by pixel."""
    pad = 2 * factor
    columns = []
    for unit in np.eye(size):
        signal = np.pad(unit, pad, mode="symmetric")
        outputs = []
        for o in range(size // factor):
            middle = o * factor + (factor - 1) / 2
            first = int(np.floor(middle)) - 2 * factor + 1
            taps = range(first, first + 4 * factor)
            weights = np.array([keys((j - middle) / factor) for j in taps])
            outputs.append(weights @ signal[[j + pad for j in taps]] / weights.sum())
        columns.append(outputs)
    return np.array(columns).T


@pytest.mark.parametrize(("size", "factor"), [(32, 4), (24, 2), (27, 3), (16, 8), (10, 5), (4, 4), (6, 1)])
def test_agrees_with_an_independent_matrix(size: int, factor: int) -> None:
    np.testing.assert_allclose(
        bicubic_matrix(size, factor).numpy(), padded_then_weighted(size, factor), rtol=0, atol=1e-14
    )


def test_dense_operator_is_the_kronecker_product() -> None:
    op = build_operator("super_resolution", {"factor": 4}, x_shape=(1, 16, 24))
    expected = np.kron(padded_then_weighted(16, 4), padded_then_weighted(24, 4))
    np.testing.assert_allclose(op.dense().numpy(), expected, rtol=0, atol=1e-14)


def test_agrees_with_pillow_where_padding_plays_no_part() -> None:
    image = np.random.default_rng(0).uniform(size=(64, 96)).astype(np.float32)
    op = build_operator("super_resolution", {"factor": 4}, x_shape=(1, 64, 96))
    mine = op(torch.from_numpy(image)[None, None])[0, 0].numpy()
    pillow = np.asarray(Image.fromarray(image).resize((24, 16), Image.Resampling.BICUBIC))
    np.testing.assert_allclose(mine[2:-2, 2:-2], pillow[2:-2, 2:-2], rtol=0, atol=1e-5)
    assert np.abs(mine[0] - pillow[0]).max() > 1e-3, "pillow crops the kernel at the edge, this resizer mirrors"


def test_full_size_row_has_sixteen_taps() -> None:
    matrix = bicubic_matrix(256, 4)
    assert matrix.shape == (64, 256)
    assert matrix[32].nonzero().flatten().tolist() == list(range(32 * 4 - 6, 32 * 4 + 10))
    torch.testing.assert_close(matrix.sum(1), torch.ones(64, dtype=torch.float64), rtol=0, atol=1e-14)


def test_factor_one_is_the_identity() -> None:
    assert torch.equal(bicubic_matrix(9, 1), torch.eye(9, dtype=torch.float64))
