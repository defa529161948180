"""From a stored row to tensors and its operator; a row is a mapping by column name, as pyarrow gives it."""

import json
import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from operators import InputError, Operator, Signal, build_operator, check_measurement, find_signal
from operators.validation import shorten
from pipelines.manifest.schema import stored_y


def decode_truth(row: Mapping[str, Any]) -> Tensor:
    """The ground truth, as its signal stores it."""
    if row["truth"] is None:
        raise InputError(f"{_name(row)}: it holds no ground truth; metrics that need one cannot be computed.")
    shape = _shape(row, "x_shape")
    truth = row_signal(row).decode(row["truth"], _name(row))
    if tuple(truth.shape) != shape:
        raise InputError(f"{_name(row)}: its truth is {list(truth.shape)} and x_shape says {[*shape]}.")
    return truth


def row_signal(row: Mapping[str, Any]) -> Signal:
    """What was measured; an InputError names the row where nobody knows its signal."""
    try:
        return find_signal(row["signal"])
    except InputError as error:
        raise InputError(f"{_name(row)}: {error}") from None


def measurement(row: Mapping[str, Any]) -> Tensor:
    """The measurement, float32, finite and of the shape its operator makes."""
    y, shape = stored_y(row), _shape(row, "y_shape")
    if y.size != math.prod(shape):
        raise InputError(f"{_name(row)}: y has {y.size} values, which do not fill its y_shape {[*shape]}.")
    measured = torch.from_numpy(y.copy()).reshape(shape)
    operator = _built(_shared_operator, row)
    try:
        check_measurement(operator, measured.unsqueeze(0))
    except InputError as error:
        raise InputError(f"{_name(row)}: {error}") from None
    return measured


def build_row_operator(row: Mapping[str, Any]) -> Operator:
    """The operator that made the measurement, new for every call: `.to(...)` changes an operator in place."""
    operator = _built(_operator, row)
    if operator.signal != row["signal"]:
        raise InputError(
            f"{_name(row)}: its signal is {row['signal']!r} and its operator measures {operator.signal!r}."
        )
    return operator


def _built(build: Callable[[str, str, tuple[int, ...]], Operator], row: Mapping[str, Any]) -> Operator:
    try:
        return build(row["operator"], row["operator_params"], _shape(row, "x_shape"))
    except InputError as error:
        name = f"{_name(row)}: "
        raise InputError(name + str(error).removeprefix(name)) from None


def _operator(name: str, params: str, x_shape: tuple[int, ...]) -> Operator:
    try:
        values = json.loads(params)
    except ValueError:
        raise InputError(f"operator_params is {shorten(params)}: it must be a JSON object.") from None
    except RecursionError:
        raise InputError(f"operator_params is {shorten(params)}: it is nested too deeply.") from None
    try:
        return build_operator(name, values, x_shape=x_shape)
    except RecursionError:
        raise InputError(f"operator_params is {shorten(params)}: it is nested too deeply.") from None
    except (MemoryError, RuntimeError, OverflowError) as error:
        reason = " ".join(str(error).split())[:100] or type(error).__name__
        raise InputError(f"x_shape is {[*x_shape]}: its operator cannot be built ({reason}).") from None


_shared_operator = lru_cache(maxsize=32)(_operator)


def _shape(row: Mapping[str, Any], column: str) -> tuple[int, ...]:
    if any(side is None for side in row[column]):
        raise InputError(f"{_name(row)}: its {column} is {row[column]}; every side must be a number.")
    return tuple(int(side) for side in row[column])


def _name(row: Mapping[str, Any]) -> str:
    return str(row.get("id", "the measurement"))
