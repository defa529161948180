"""Noise: seeded per row, independent of neighbours, only on what is observed."""

import subprocess
import sys

import pytest
import torch

from operators import TASKS, build_operator, measure, stack_operators

SHAPE = (3, 16, 16)


@pytest.fixture
def images() -> torch.Tensor:
    return torch.rand(4, *SHAPE, generator=torch.Generator().manual_seed(0)) * 2 - 1


@pytest.mark.parametrize("name", ["identity", "super_resolution", "random_inpainting"])
def test_a_row_does_not_depend_on_its_neighbours(name: str, images: torch.Tensor) -> None:
    op = build_operator(name, x_shape=SHAPE).to(torch.float32)
    seeds, sigma = [7, 8, 9, 7], [0.05, 0.1, 0.0, 0.05]
    y = measure(op, images, sigma=sigma, seeds=seeds)
    order = [2, 0, 3, 1]
    shuffled = measure(op, images[order], sigma=[sigma[i] for i in order], seeds=[seeds[i] for i in order])
    torch.testing.assert_close(shuffled, y[order], rtol=0, atol=1e-6)
    alone = measure(op, images[1:2], sigma=0.1, seeds=[8])
    torch.testing.assert_close(alone, y[1:2], rtol=0, atol=1e-6)
    torch.testing.assert_close(y[2], op(images)[2], rtol=0, atol=1e-6)


def test_seed_decides_the_noise_and_global_state_does_not(images: torch.Tensor) -> None:
    op = build_operator("identity", x_shape=SHAPE)
    state = torch.get_rng_state()
    y = measure(op, images, sigma=0.05, seeds=[0, 1, 2, 0])
    assert torch.equal(torch.get_rng_state(), state)
    torch.manual_seed(123)
    assert torch.equal(measure(op, images, sigma=0.05, seeds=[0, 1, 2, 0]), y)
    noise = y - images
    torch.testing.assert_close(noise[0], noise[3], rtol=0, atol=1e-6)
    assert float((noise[0] - noise[1]).abs().max()) > 0.01


def test_noise_has_the_stated_size_and_dtype_does_not_change_it(images: torch.Tensor) -> None:
    op = build_operator("identity", x_shape=(3, 64, 64))
    zeros = torch.zeros(2, 3, 64, 64)
    noise = measure(op, zeros, sigma=[0.05, 0.5], seeds=[1, 2])
    assert noise[0].std() == pytest.approx(0.05, rel=0.03)
    assert noise[1].std() == pytest.approx(0.5, rel=0.03)
    assert abs(float(noise[1].mean())) < 0.03
    double = measure(op, zeros.double(), sigma=[0.05, 0.5], seeds=[1, 2])
    assert double.dtype == torch.float64
    torch.testing.assert_close(double.float(), noise, rtol=1e-6, atol=1e-7)


def test_missing_pixels_carry_no_noise() -> None:
    rows = [build_operator("random_inpainting", {"keep": keep}, x_shape=SHAPE) for keep in (0.2, 0.7)]
    op = stack_operators(rows)
    y = measure(op, torch.zeros(2, *SHAPE), sigma=1.0, seeds=[0, 1])
    assert [int((row != 0).sum()) for row in y] == list(op.measurement_counts)
    assert y[0].norm() == pytest.approx(op.measurement_counts[0] ** 0.5, rel=0.15)


def test_measure_makes_data_not_a_graph(images: torch.Tensor) -> None:
    op = build_operator("identity", x_shape=SHAPE)
    assert not measure(op, images.requires_grad_(), sigma=0.1, seeds=range(4)).requires_grad


def test_noise_is_pinned() -> None:
    """A stored manifest must be reproducible by later versions: this number may never change."""
    op = build_operator("identity", x_shape=(1, 1, 2))
    y = measure(op, torch.zeros(1, 1, 1, 2), sigma=1.0, seeds=[0])
    torch.testing.assert_close(y.flatten(), torch.tensor([-1.9242878, -0.4066456]), rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "measured"),
    [("sr4-256", 64), ("gaussian-deblur-256", 256), ("sr4-32", 8), ("gaussian-deblur-32", 32)],
)
def test_tasks_build(name: str, measured: int) -> None:
    task = TASKS[name]
    op = task.build()
    assert (task.name, task.sigma) == (name, 0.05)
    assert op.x_shape == (3, task.image_size, task.image_size)
    assert op.y_shape == (3, measured, measured)


def test_presets_of_the_paper() -> None:
    assert (TASKS["sr4-256"].operator, TASKS["sr4-256"].params) == ("super_resolution", {"factor": 4})
    assert TASKS["gaussian-deblur-256"].params == {"kernel_size": 61, "std": 3.0}


def test_import_stays_light() -> None:
    heavy = "scipy skimage torchvision diffusers transformers ray mlflow PIL matplotlib"
    code = f"import sys, operators; print([m for m in '{heavy}'.split() if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
