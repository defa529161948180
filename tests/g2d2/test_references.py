"""Reference methods: better than the measurement itself, exact where they must be."""

import pytest
import torch

from g2d2.priors import random_prior
from g2d2.references import bicubic, wiener
from g2d2.solvers import SOLVERS, load_solver
from operators import TASKS, InputError, measure


@pytest.fixture(scope="module")
def photograph():
    from skimage.data import astronaut

    image = torch.from_numpy(astronaut()).permute(2, 0, 1).float() / 127.5 - 1
    return torch.nn.functional.avg_pool2d(image.unsqueeze(0), 16)


def error(images, truth):
    return (images - truth).square().mean().item()


def test_the_wiener_filter_sharpens_and_does_not_amplify_noise(photograph):
    operator = TASKS["gaussian-deblur-32"].build()
    y = measure(operator, photograph, sigma=0.05, seeds=[0])
    restored = wiener(random_prior(), operator, y, None).images
    dense = operator.dense()
    expected = torch.linalg.solve(
        dense.T @ dense + 0.02 * torch.eye(dense.shape[1], dtype=torch.float64), dense.T @ y.double().flatten()
    )
    assert torch.allclose(restored.flatten().double(), expected.clamp(-1, 1), atol=1e-5)
    assert error(restored, photograph) < error(y, photograph)


def test_bicubic_enlarges(photograph):
    operator = TASKS["sr4-32"].build()
    y = measure(operator, photograph, sigma=0.0, seeds=[0])
    restored = bicubic(random_prior(), operator, y, None).images
    assert restored.shape == photograph.shape
    assert error(restored, photograph) < error(y.repeat_interleave(4, 2).repeat_interleave(4, 3), photograph)


def test_every_known_solver_loads():
    assert all(callable(load_solver(name)) for name in SOLVERS)
    with pytest.raises(InputError, match="'nonsense' cannot be loaded"):
        load_solver("nonsense")
