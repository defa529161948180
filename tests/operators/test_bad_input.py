"""Bad input: one sentence that names the field, the value and what is allowed."""

from typing import Any

import pytest
import torch
from pydantic import BaseModel, ConfigDict

from operators import (
    InputError,
    Operator,
    build_operator,
    check_measurement,
    measure,
    operator_settings,
    stack_operators,
    validate,
)

SHAPE = (3, 16, 16)
NAN = float("nan")


def sentence(error: pytest.ExceptionInfo[InputError]) -> str:
    text = str(error.value)
    assert text.endswith(".")
    assert "\n" not in text
    return text


@pytest.mark.parametrize(
    ("name", "params", "said"),
    [
        ("gaussian_blur", {"kernel_size": 60}, "gaussian_blur: kernel_size is 60: it must be odd."),
        ("gaussian_blur", {"kernel_size": 0}, "kernel_size is 0: it must be greater than or equal to 1."),
        ("gaussian_blur", {"std": -1}, "gaussian_blur: std is -1: it must be greater than 0."),
        ("gaussian_blur", {"std": NAN}, "gaussian_blur: std is nan: it must be a finite number."),
        ("gaussian_blur", {"std": float("inf")}, "gaussian_blur: std is inf: it must be a finite number."),
        ("gaussian_blur", {"std": "soft"}, "gaussian_blur: std is 'soft': it must be a valid number"),
        ("gaussian_blur", {"sigma": 3.0}, "unknown setting 'sigma': known settings are kernel_size, std."),
        (
            "gaussian_blur",
            {"kernel_size": 41, "std": 9.0},
            "reaches 20 pixels beyond the edge: reflect padding",
        ),
        ("identity", {"std": 1}, "identity: unknown setting 'std': known settings are none."),
        ("super_resolution", {"factor": 3}, "factor is 3: it must divide both sides of the 16x16 image."),
        ("super_resolution", {"factor": 2.5}, "super_resolution: factor is 2.5: it must be a valid integer"),
        (
            "box_inpainting",
            {},
            "top is missing: it has no default and must be given (and 3 more mistakes).",
        ),
        (
            "box_inpainting",
            {"top": 1, "left": 0, "hight": 2, "width": 2},
            "unknown setting 'hight' (did you mean 'height'?): known settings are top, left, height, width",
        ),
        (
            "box_inpainting",
            {"top": 10, "left": 0, "height": 7, "width": 2},
            "box_inpainting: top 10 and height 7 end at 17: the box must lie inside the 16x16 image.",
        ),
        ("box_inpainting", {"top": 0, "left": 9, "height": 7, "width": 8}, "left 9 and width 8 end at 17"),
        (
            "box_inpainting",
            {"top": 0, "left": 0, "height": 16, "width": 16},
            "at least one pixel must remain.",
        ),
        ("random_inpainting", {"keep": 0.001}, "random_inpainting: keep is 0.001: at least one pixel"),
        ("random_inpainting", {"keep": 1.5}, "keep is 1.5: it must be less than or equal to 1."),
        ("motion_blur", {"kernel_size": 33}, "kernel_size 33 reaches 16 pixels beyond the edge"),
        ("motion_blur", {"kernel_size": 4}, "motion_blur: kernel_size is 4: it must be odd."),
        ("motion_blur", {"angle": NAN}, "motion_blur: angle is nan: it must be a finite number."),
        (
            "gaussian_blur",
            [1, 2],
            "gaussian_blur is [1, 2]: it must be a mapping of setting names to values.",
        ),
    ],
)
def test_settings(name: str, params: Any, said: str) -> None:
    with pytest.raises(InputError) as error:
        build_operator(name, params, x_shape=SHAPE)
    assert said in sentence(error)


@pytest.mark.parametrize("call", [lambda n: build_operator(n, x_shape=SHAPE), operator_settings])
def test_unknown_operator(call: Any) -> None:
    with pytest.raises(InputError) as error:
        call("blurr")
    assert sentence(error).startswith("operator is 'blurr': it must be one of box_inpainting, gaussian_blur,")


@pytest.mark.parametrize("shape", [(3, 16), (3, 0, 16), (3, 16.0, 16), (1, 3, 16, 16)])
def test_image_shape(shape: Any) -> None:
    with pytest.raises(InputError, match=r"x_shape is .* three positive integers"):
        build_operator("identity", x_shape=shape)


def test_batches_of_the_wrong_kind() -> None:
    op = build_operator("super_resolution", {"factor": 4}, x_shape=SHAPE)
    with pytest.raises(InputError) as error:
        op(torch.zeros(2, 3, 16, 17))
    assert sentence(error) == ("super_resolution: the x has shape (2, 3, 16, 17): it must be (B, 3, 16, 16).")
    with pytest.raises(InputError, match=r"measurement batch has shape \(2, 3, 16, 16\): it must be \(B, 3, 4, 4\)"):
        op.adjoint(torch.zeros(2, 3, 16, 16))
    with pytest.raises(InputError, match=r"dtype torch\.uint8: it must be a floating-point dtype"):
        op(torch.zeros(2, 3, 16, 16, dtype=torch.uint8))


def test_dense_refuses_a_matrix_that_would_fill_the_memory() -> None:
    with pytest.raises(InputError, match=r"x_shape \(3, 256, 256\) needs a dense matrix"):
        build_operator("identity", x_shape=(3, 256, 256)).dense()


def test_stacking_what_does_not_belong_together() -> None:
    def sr(factor: int, shape: tuple[int, int, int] = SHAPE) -> Operator:
        return build_operator("super_resolution", {"factor": factor}, x_shape=shape)

    blurs = [build_operator("gaussian_blur", {"std": std}, x_shape=SHAPE) for std in (1.0, 2.0)]
    with pytest.raises(InputError, match=r"y_shape of row 1 is \(3, 8, 8\) and of row 0 \(3, 4, 4\)"):
        stack_operators([sr(4), sr(2)])
    with pytest.raises(InputError, match="name of row 2 is 'super_resolution' and of row 0 'gaussian_blur'"):
        stack_operators([*blurs, sr(1)])
    with pytest.raises(InputError, match=r"x_shape of row 1"):
        stack_operators([sr(4), sr(4, (3, 32, 16))])
    with pytest.raises(InputError, match="empty list"):
        stack_operators([])
    stacked = stack_operators(blurs)
    with pytest.raises(InputError, match="the x has 3 rows: it must have 2"):
        stacked(torch.zeros(3, *SHAPE))
    with pytest.raises(InputError, match="2 rows have different settings: use row_settings"):
        _ = stacked.settings
    with pytest.raises(InputError, match="dense"):
        stacked.dense()
    with pytest.raises(InputError, match="already stacked"):
        stack_operators([stacked, blurs[0]])


@pytest.mark.parametrize(
    ("sigma", "seeds", "said"),
    [
        (-0.1, [0, 1], "sigma is -0.1: it must be finite and at least 0, and at most 1e+30."),
        (NAN, [0, 1], "sigma is nan: it must be finite and at least 0, and at most 1e+30."),
        ([0.1, 0.2, 0.3], [0, 1], "sigma has shape (3,): it must be one number or one per row, 2."),
        ("loud", [0, 1], "sigma is 'loud': it must be a number or one number per row."),
        (0.1, [0], "seeds has 1 entries: it must have one per row, 2."),
    ],
)
def test_noise(sigma: Any, seeds: list[int], said: str) -> None:
    with pytest.raises(InputError) as error:
        measure(build_operator("identity", x_shape=SHAPE), torch.zeros(2, *SHAPE), sigma=sigma, seeds=seeds)
    assert sentence(error) == said


@pytest.mark.parametrize("value", [NAN, float("inf")])
def test_stored_measurement_with_values_that_are_not_finite(value: float) -> None:
    op = build_operator("super_resolution", {"factor": 4}, x_shape=SHAPE)
    y = torch.zeros(3, *op.y_shape)
    check_measurement(op, y)
    y[1, 0, 0, :2] = value
    with pytest.raises(InputError) as error:
        check_measurement(op, y)
    assert "y has 2 NaN or infinite values in row 1" in sentence(error)
    with pytest.raises(InputError, match="must be"):
        check_measurement(op, y[:, :, :2])


class Inner(BaseModel):
    model_config = ConfigDict(extra="forbid")
    steps: int = 3


class Outer(BaseModel):
    model_config = ConfigDict(extra="forbid")
    inner: Inner = Inner()


def test_validate_serves_any_model() -> None:
    assert validate(Outer, {"inner": {"steps": 5}}).inner.steps == 5
    ready = Outer()
    assert validate(Outer, ready) is ready
    with pytest.raises(InputError) as error:
        validate(Outer, {"inner": {"step": 5}}, where="sweep.yaml")
    assert (
        sentence(error) == "sweep.yaml: unknown setting 'inner.step' (did you mean 'steps'?): known settings are steps."
    )
    with pytest.raises(InputError) as error:
        validate(Outer, {"inner": {"steps": "x" * 500}}, where="sweep.yaml")
    assert sentence(error).startswith("sweep.yaml: inner.steps is 'xxx")
    assert len(sentence(error)) < 250


def test_a_sentence_is_one_short_line_whatever_it_quotes():
    """It is printed on terminals, which some characters steer, and stored in files, which cannot hold some others."""
    assert str(InputError("name: a\x1b[31m\tb\nc\ud800 is odd.")) == "name: a\\x1b[31m\\tb c\\ud800 is odd."
    long = str(InputError(f"name: {'y' * 100_000} must be shorter."))
    assert len(long) < 2000
    assert long.startswith("name: yyy")
    assert long.endswith("must be shorter.")
