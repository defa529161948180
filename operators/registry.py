"""Operators by name: list them, build one, stack several for a batch."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from operators.errors import InputError
from operators.extensions import Extensions
from operators.signals import find_signal
from operators.validation import validate

if TYPE_CHECKING:
    from operators.base import Operator, OperatorSettings


def _not_an_operator(thing: Any) -> str | None:
    from operators.base import Operator  # torch, which the names alone do without
    from operators.extensions import subclass_of

    return subclass_of(Operator)(thing)


OPERATORS: "Extensions[type[Operator]]" = Extensions(
    "operator",
    "g2d2.operators",
    {
        "box_inpainting": "operators.inpainting:BoxInpainting",
        "gaussian_blur": "operators.gaussian_blur:GaussianBlur",
        "identity": "operators.identity:Identity",
        "motion_blur": "operators.motion_blur:MotionBlur",
        "path": "operators.path:Path",
        "random_inpainting": "operators.inpainting:RandomInpainting",
        "super_resolution": "operators.super_resolution:SuperResolution",
    },
    _not_an_operator,
)


def operator_names() -> tuple[str, ...]:
    """Every known name, sorted."""
    return OPERATORS.names()


def operator_settings(name: str) -> "type[OperatorSettings]":
    """The settings model of the operator called `name`."""
    return OPERATORS.find(name).settings_model


def build_operator(
    name: str,
    params: "Mapping[str, Any] | OperatorSettings | None" = None,
    *,
    x_shape: Sequence[int],
) -> "Operator":
    """The operator called `name` for x of this shape; settings that `params` omits keep their defaults."""
    cls = OPERATORS.find(name)
    settings = validate(cls.settings_model, params, where=name)
    return cls(settings, find_signal(cls.signal).check_shape(x_shape))


def stack_operators(operators: "Sequence[Operator]") -> "Operator":
    """One operator for a batch whose row i meets operators[i]; the first itself if all rows are alike."""
    if not operators:
        raise InputError("stack_operators got an empty list: it needs one operator per row.")
    first = operators[0]
    signal = find_signal(first.signal)
    for row, other in enumerate(operators[1:], start=1):
        for field in ("name", "x_shape", "y_shape"):
            own, theirs = getattr(first, field), getattr(other, field)
            same = signal.batch_shape(own) == signal.batch_shape(theirs) if field != "name" else own == theirs
            if not same:
                raise InputError(
                    f"{field} of row {row} is {theirs!r} and of row 0 {own!r}: all rows of one batch must have the "
                    "same."
                )
    alike = {(op.row_shapes, op.y_shape) for op in operators} == {(first.row_shapes, first.y_shape)}
    if alike and all(op.rows == 1 and op.settings == first.settings for op in operators):
        return first
    if any(op.rows > 1 for op in operators):
        raise InputError(f"{first.name}: an operator that is already stacked cannot be stacked again: pass its rows.")
    return first.stack(operators[1:])
