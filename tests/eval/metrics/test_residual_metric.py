"""The residual is 1 for the truth itself, and is taken over what was observed."""

import math

import pytest
import torch

from eval.metrics import Scored, build_metric, row_problems
from operators import InputError, build_operator, measure, stack_operators


@pytest.fixture
def truth():
    return torch.rand(3, 3, 32, 32, generator=torch.Generator().manual_seed(0)) * 2 - 1


@pytest.mark.parametrize("name", ["gaussian_blur", "super_resolution", "random_inpainting", "identity"])
def test_the_truth_fits_the_noise(name, truth):
    params = {"gaussian_blur": {"kernel_size": 9, "std": 1.0}, "super_resolution": {"factor": 2}}.get(name, {})
    operator = build_operator(name, params, x_shape=(3, 32, 32))
    sigma = torch.tensor([0.05, 0.1, 0.2])
    y = measure(operator, truth, sigma=sigma.tolist(), seeds=[0, 1, 2])
    right = Scored(truth, truth, operator=operator, y=y, sigma=sigma)
    assert build_metric("residual")(right).tolist() == pytest.approx([1.0] * 3, abs=0.1)
    wrong = Scored(truth, truth.roll(5, -1), operator=operator, y=y, sigma=sigma)
    assert (build_metric("residual")(wrong) > 1.3).all()


def test_the_norm_is_what_the_formula_says(truth):
    operators = [
        build_operator("random_inpainting", {"keep": k, "seed": 1}, x_shape=(3, 32, 32)) for k in (0.2, 0.5, 1)
    ]
    operator = stack_operators(operators)
    y = measure(operator, truth, sigma=0.1, seeds=[0, 1, 2])
    y = torch.where(operator.mask, y, 7.0)  # what is not observed must not count
    images = truth * 0.9
    scored = Scored(truth, images, operator=operator, y=y, sigma=torch.full((3,), 0.1))
    kept = [int(one.mask.sum()) * 3 for one in operators]
    expected = [
        ((y[i] - images[i]) * one.mask[0]).double().square().sum().sqrt().item() for i, one in enumerate(operators)
    ]
    assert build_metric("residual_norm")(scored).tolist() == pytest.approx(expected, rel=1e-6)
    ratios = [norm / (0.1 * math.sqrt(count)) for norm, count in zip(expected, kept, strict=True)]
    assert build_metric("residual")(scored).tolist() == pytest.approx(ratios, rel=1e-6)


def test_rows_without_a_meaning_are_nan(truth):
    operator = build_operator("identity", x_shape=(3, 32, 32))
    y = truth.clone()
    y[1, 0, 0, 0] = math.inf
    scored = Scored(truth, truth * 0.5, operator=operator, y=y, sigma=torch.tensor([0.0, 0.1, 0.1]))
    assert torch.isnan(build_metric("residual")(scored)).tolist() == [True, True, False]
    assert torch.isnan(build_metric("residual_norm")(scored)).tolist() == [False, True, False]
    assert torch.isfinite(build_metric("psnr")(scored)).all()
    assert row_problems(scored) == [None, "y has 1 NaN or infinite values: every value must be finite", None]


def test_missing_parts_are_named(truth):
    operator = build_operator("identity", x_shape=(3, 32, 32))
    with pytest.raises(InputError, match="residual_norm: y must be given"):
        build_metric("residual_norm")(Scored(truth, truth, operator=operator))
    with pytest.raises(InputError, match="residual: sigma must be given"):
        build_metric("residual")(Scored(truth, truth, operator=operator, y=truth))
    with pytest.raises(InputError, match="the measurement batch has shape"):
        build_metric("residual_norm")(Scored(truth, truth, operator=operator, y=truth[..., :5]))
