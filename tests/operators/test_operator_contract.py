"""One contract for every registered operator; a new operator only adds its settings to CASES."""

import math
from typing import Any

import pytest
import torch

from operators import (
    Linear,
    Operator,
    OperatorSettings,
    Spectral,
    build_operator,
    operator_names,
    operator_settings,
    stack_operators,
)
from operators.registry import OPERATORS

SHAPES = [(3, 16, 16), (1, 12, 20), (2, 24, 8)]

# Settings that fit every shape above and can share one batch.
CASES: dict[str, list[dict[str, Any]]] = {
    "super_resolution": [{"factor": 4}, {"factor": 2}, {"factor": 1}],
    "gaussian_blur": [{"kernel_size": 61, "std": 1.3}, {"kernel_size": 5, "std": 3.0}, {"kernel_size": 1}],
    "box_inpainting": [
        {"top": 2, "left": 3, "height": 4, "width": 5},
        {"top": 0, "left": 0, "height": 8, "width": 1},
    ],
    "random_inpainting": [{"keep": 0.3, "seed": 0}, {"keep": 0.3, "seed": 1}, {"keep": 1.0}],
    "motion_blur": [
        {"kernel_size": 9, "angle": 30.0},
        {"kernel_size": 5, "angle": 100.0},
        {"kernel_size": 1},
    ],
    "identity": [{}],
}
WITHOUT_SVD = {"motion_blur"}

EVERY = pytest.mark.parametrize(
    ("name", "params", "shape"),
    [
        pytest.param(name, params, shape, id=f"{name}-{i}-{'x'.join(map(str, shape))}")
        for name, cases in CASES.items()
        for i, params in enumerate(cases)
        for shape in SHAPES
    ],
)


def random(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def test_every_registered_operator_of_pictures_is_under_contract() -> None:
    assert {name for name in operator_names() if OPERATORS.find(name).signal == "image"} == set(CASES)


def test_names_and_settings_are_the_classes_own() -> None:
    for name in CASES:
        op = build_operator(name, CASES[name][0], x_shape=SHAPES[0])
        assert type(op).name == name
        assert type(op).settings_model is operator_settings(name)
        assert isinstance(op.settings, operator_settings(name))
        assert isinstance(op, Linear)


@EVERY
def test_describes_itself(name: str, params: dict[str, Any], shape: tuple[int, int, int]) -> None:
    op = build_operator(name, params, x_shape=shape)
    assert isinstance(op, Operator)
    assert (op.name, op.x_shape, op.rows) == (name, shape, 1)
    assert op.settings == operator_settings(name)(**params)
    assert list(op.parameters()) == []
    assert op(random(2, *shape)).shape == (2, *op.y_shape)
    assert op.adjoint(random(2, *op.y_shape)).shape == (2, *shape)


@EVERY
def test_adjoint_is_the_transpose(name: str, params: dict[str, Any], shape: tuple[int, int, int]) -> None:
    op = build_operator(name, params, x_shape=shape)
    x, y = random(3, *shape), random(3, *op.y_shape, seed=1)
    forward, backward = (op(x) * y).flatten(1).sum(1), (x * op.adjoint(y)).flatten(1).sum(1)
    torch.testing.assert_close(forward, backward, rtol=1e-12, atol=1e-12)


@EVERY
def test_agrees_with_its_dense_matrix(name: str, params: dict[str, Any], shape: tuple[int, int, int]) -> None:
    op = build_operator(name, params, x_shape=shape)
    matrix = op.dense()
    assert matrix.shape == (math.prod(op.y_shape), math.prod(shape))
    x, y = random(2, *shape), random(2, *op.y_shape, seed=1)
    torch.testing.assert_close(op(x).flatten(1), x.flatten(1) @ matrix.T, rtol=0, atol=1e-12)
    torch.testing.assert_close(op.adjoint(y).flatten(1), y.flatten(1) @ matrix, rtol=0, atol=1e-12)


@EVERY
def test_gradient_is_the_adjoint(name: str, params: dict[str, Any], shape: tuple[int, int, int]) -> None:
    op = build_operator(name, params, x_shape=shape)
    x, y = random(2, *shape).requires_grad_(), random(2, *op.y_shape, seed=1)
    (gradient,) = torch.autograd.grad((op(x) * y).sum(), x)
    torch.testing.assert_close(gradient, op.adjoint(y), rtol=0, atol=1e-12)


@EVERY
def test_batch_is_a_loop_over_rows(name: str, params: dict[str, Any], shape: tuple[int, int, int]) -> None:
    op = build_operator(name, params, x_shape=shape)
    x, y = random(5, *shape), random(5, *op.y_shape, seed=1)
    torch.testing.assert_close(op(x), torch.cat([op(row[None]) for row in x]), rtol=0, atol=1e-13)
    torch.testing.assert_close(op.adjoint(y), torch.cat([op.adjoint(row[None]) for row in y]), rtol=0, atol=1e-13)


@EVERY
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_keeps_dtype_and_device(
    name: str, params: dict[str, Any], shape: tuple[int, int, int], dtype: torch.dtype
) -> None:
    op = build_operator(name, params, x_shape=shape)
    exact, tolerance = op(random(2, *shape)), 30 * torch.finfo(dtype).eps
    for moved in (op, build_operator(name, params, x_shape=shape).to(dtype=dtype)):
        y = moved(random(2, *shape).to(dtype))
        assert y.dtype == dtype
        assert moved.adjoint(y).dtype == dtype
        assert float((y.double() - exact).abs().max()) < tolerance
    # The meta device stands in for an accelerator: it refuses to mix with CPU tensors just as one does.
    away = torch.empty(2, *shape, dtype=dtype, device="meta")
    for moved in (op, build_operator(name, params, x_shape=shape).to("meta", dtype)):
        assert moved(away).device.type == "meta"
        assert moved.adjoint(moved(away)).device.type == "meta"


@EVERY
def test_does_not_alias_its_input(name: str, params: dict[str, Any], shape: tuple[int, int, int]) -> None:
    op = build_operator(name, params, x_shape=shape)
    x = random(1, *shape)
    before = x.clone()
    op(x).fill_(7.0)
    assert torch.equal(x, before)


@EVERY
def test_svd_reconstructs_the_operator(name: str, params: dict[str, Any], shape: tuple[int, int, int]) -> None:
    op = build_operator(name, params, x_shape=shape)
    assert isinstance(op, Spectral) == (name not in WITHOUT_SVD), "methods choose by the class"
    if name in WITHOUT_SVD:
        assert not hasattr(op, "svd")
        return
    svd = op.svd()
    x, y = random(2, *shape), random(2, *op.y_shape, seed=1)
    assert svd.singular_values.shape == (1, 1, *op.y_shape[1:])
    assert bool((svd.singular_values >= 0).all())
    close = {"rtol": 0, "atol": 1e-11}
    torch.testing.assert_close(svd.U(svd.singular_values * svd.crop(svd.Vt(x))), op(x), **close)
    torch.testing.assert_close(svd.V(svd.embed(svd.singular_values * svd.Ut(y))), op.adjoint(y), **close)
    torch.testing.assert_close(svd.V(svd.Vt(x)), x, **close)
    torch.testing.assert_close(svd.Vt(svd.V(x)), x, **close)
    torch.testing.assert_close(svd.U(svd.Ut(y)), y, **close)
    torch.testing.assert_close(svd.Ut(svd.U(y)), y, **close)
    one_channel = build_operator(name, params, x_shape=(1, *shape[1:]))
    mine = svd.singular_values.flatten().sort(descending=True).values
    torch.testing.assert_close(mine, torch.linalg.svdvals(one_channel.dense()), **close)
    assert svd.to(dtype=torch.float32).Vt(x.float()).dtype == torch.float32


def stackable(name: str) -> list[dict[str, Any]]:
    """Settings that give one measurement shape: a factor decides it, nothing else does."""
    return CASES[name][:1] if name == "super_resolution" else CASES[name]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", sorted(CASES))
def test_stack_is_a_loop_over_rows(name: str, shape: tuple[int, int, int]) -> None:
    ops = [build_operator(name, params, x_shape=shape) for params in [*stackable(name), stackable(name)[0]]]
    stacked = stack_operators(ops)
    x, y = random(len(ops), *shape), random(len(ops), *ops[0].y_shape, seed=1)
    each = torch.cat([op(row[None]) for op, row in zip(ops, x, strict=True)])
    each_adjoint = torch.cat([op.adjoint(row[None]) for op, row in zip(ops, y, strict=True)])
    torch.testing.assert_close(stacked(x), each, rtol=0, atol=1e-12)
    torch.testing.assert_close(stacked.adjoint(y), each_adjoint, rtol=0, atol=1e-12)
    if len(stackable(name)) == 1:
        assert stacked is ops[0]
        return
    assert stacked.rows == len(ops)
    assert stacked.row_settings == tuple(op.settings for op in ops)
    assert stacked.measurement_counts == tuple(op.measurement_count for op in ops)
    assert ops[0].rows == 1, "stacking must not change the operators it was given"
    assert stacked(x.float()).dtype == torch.float32
    if name not in WITHOUT_SVD:
        svd = stacked.svd()
        torch.testing.assert_close(svd.U(svd.singular_values * svd.crop(svd.Vt(x))), each, rtol=0, atol=1e-11)


@EVERY
def test_what_a_measurement_shows_by_itself(name: str, params: dict[str, Any], shape: tuple[int, int, int]) -> None:
    """It has the image's shape, is y where y has it too, and shows a flat image as what it is wherever it was seen."""
    op = build_operator(name, params, x_shape=shape)
    y = op(random(2, *shape))
    shown = op.estimate(y)
    assert shown.shape == (2, *shape)
    if op.y_shape == op.x_shape:
        assert torch.equal(shown, y)
    flat = torch.full((1, *shape), 0.3, dtype=torch.float64)
    again = op.estimate(op(flat))
    seen = again if op.y_shape != op.x_shape else again[again != 0]
    torch.testing.assert_close(seen, torch.full_like(seen, 0.3), atol=1e-9, rtol=0)


class Scaled(Linear):
    """Every other column times a factor of its own for each row: a measurement of another shape, stacked by row."""

    name = "scaled"

    def __init__(self, factor: float) -> None:
        super().__init__(OperatorSettings(), (1, 2, 4), (1, 2, 2))
        self.register_buffer("factor", torch.tensor([[[[factor]]]], dtype=torch.float64))

    def _apply_forward(self, x: torch.Tensor) -> torch.Tensor:
        return x[..., ::2] * self.factor

    def _apply_adjoint(self, y: torch.Tensor) -> torch.Tensor:
        return torch.stack([y * self.factor, torch.zeros_like(y)], dim=-1).flatten(-2)


def test_measurements_of_a_stacked_batch_are_shown_row_by_row() -> None:
    ops = [Scaled(2.0), Scaled(0.0), Scaled(5.0)]
    stacked, x = ops[0].stack(ops[1:]), random(3, 1, 2, 4)
    assert stacked.rows == 3
    shown = stacked.estimate(stacked(x))
    expected = x.clone()
    expected[..., 1::2] = 0  # columns that no measurement sees
    expected[1] = 0  # nor does this row's see anything
    torch.testing.assert_close(shown, expected)


class Squared(Operator):
    """No linear map: it shows nothing by itself unless y has x's shape."""

    def __init__(self, settings: OperatorSettings, x_shape: tuple[int, ...]) -> None:
        super().__init__(settings, x_shape, x_shape[:-1])

    def _apply_forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.square().sum(-1)


def test_an_operator_that_is_not_linear_needs_a_forward_alone() -> None:
    op = Squared(OperatorSettings(), (3, 4, 4))
    assert op.name == "Squared"
    assert not hasattr(op, "adjoint")
    assert op.y_shape == (3, 4)
    assert op.measurement_count == 12
    y = op(random(2, 3, 4, 4))
    assert op.estimate(y) is None
    torch.testing.assert_close(op.norm(y), y.flatten(1).norm(dim=1))
