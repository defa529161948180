"""Operators by name: register one, list them, build one, stack several for a batch."""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from operators.errors import InputError
from operators.validation import did_you_mean, shorten, validate

if TYPE_CHECKING:
    from operators.base import Operator, OperatorSettings, Shape

OperatorClass = TypeVar("OperatorClass", bound="type[Operator]")

_HOMES = {
    "box_inpainting": "operators.inpainting",
    "gaussian_blur": "operators.gaussian_blur",
    "identity": "operators.identity",
    "motion_blur": "operators.motion_blur",
    "random_inpainting": "operators.inpainting",
    "super_resolution": "operators.super_resolution",
}
"""Our own operators with the module that registers each: their names are known before torch is loaded."""

LARGEST_SIDE = 2**14
"""Operators hold matrices as large as the square of a side; beyond this one row would take a machine's memory."""

_REGISTRY: "dict[str, type[Operator]]" = {}


def register_operator(name: str, settings_model: "type[OperatorSettings]") -> Callable[[OperatorClass], OperatorClass]:
    """Class decorator: the operator becomes known as `name` and is built as `cls(settings, image_shape)`."""

    def register(cls: OperatorClass) -> OperatorClass:
        if name in _REGISTRY or _HOMES.get(name, cls.__module__) != cls.__module__:
            raise InputError(f"operator {name!r} is registered already, by {_find(name).__qualname__}.")
        cls.name = name
        cls.settings_model = settings_model
        _REGISTRY[name] = cls
        return cls

    return register


def operator_names() -> tuple[str, ...]:
    """Every registered name, sorted."""
    return tuple(sorted({*_HOMES, *_REGISTRY}))


def operator_settings(name: str) -> "type[OperatorSettings]":
    """The settings model of the operator called `name`."""
    return _find(name).settings_model


def build_operator(
    name: str,
    params: "Mapping[str, Any] | OperatorSettings | None" = None,
    *,
    image_shape: Sequence[int],
) -> "Operator":
    """The operator called `name` for images (C, H, W); settings that `params` omits keep their defaults."""
    cls = _find(name)
    settings = validate(cls.settings_model, params, where=name)
    return cls(settings, _check_shape(image_shape))


def stack_operators(operators: "Sequence[Operator]") -> "Operator":
    """One operator for a batch whose row i meets operators[i]; the first itself if all settings are equal."""
    if not operators:
        raise InputError("stack_operators got an empty list: it needs one operator per row.")
    first = operators[0]
    for row, other in enumerate(operators[1:], start=1):
        for field in ("name", "image_shape", "measurement_shape"):
            if getattr(other, field) != getattr(first, field):
                raise InputError(
                    f"{field} of row {row} is {getattr(other, field)!r} and of row 0 "
                    f"{getattr(first, field)!r}: all rows of one batch must have the same."
                )
    if all(op.rows == 1 and op.settings == first.settings for op in operators):
        return first
    if any(op.rows > 1 for op in operators):
        raise InputError(f"{first.name}: an operator that is already stacked cannot be stacked again: pass its rows.")
    return first.stack(operators[1:])


def _find(name: str) -> "type[Operator]":
    if name not in operator_names():
        near = did_you_mean(name, operator_names())
        raise InputError(f"operator is {shorten(name)}{near}: it must be one of {', '.join(operator_names())}.")
    if name not in _REGISTRY:
        import_module(_HOMES[name])
    return _REGISTRY[name]


def _check_shape(image_shape: Sequence[int]) -> "Shape":
    shape = tuple(image_shape)
    if len(shape) != 3 or not all(isinstance(size, int) and size > 0 for size in shape):
        raise InputError(f"image_shape is {shorten(image_shape)}: it must be three positive integers (C, H, W).")
    if max(shape) > LARGEST_SIDE:
        raise InputError(f"image_shape is {shorten(shape)}: no side may be above {LARGEST_SIDE}.")
    return shape
