"""From a stored row to tensors and its operator; a row is a mapping by column name, as pyarrow gives it."""

import json
import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from operators import InputError, Operator, build_operator, check_measurement
from pipelines.images import decode_stored


def decode_truth(row: Mapping[str, Any]) -> Tensor:
    """The ground truth, (C, H, W) in [-1, 1]."""
    if row["truth"] is None:
        raise InputError(f"{_name(row)}: it holds no ground truth; metrics that need one cannot be computed.")
    shape = [int(side) for side in row["image_shape"]]
    image = decode_stored(row["truth"], _name(row))
    if list(image.shape) != shape:
        raise InputError(f"{_name(row)}: its truth is {list(image.shape)} and image_shape says {shape}.")
    return image


def measurement(row: Mapping[str, Any]) -> Tensor:
    """What was measured, (C, h, w) float32, finite and of the shape its operator makes."""
    y, shape = stored_y(row), [int(side) for side in row["y_shape"]]
    if len(shape) != 3 or y.size != math.prod(shape):
        raise InputError(f"{_name(row)}: y has {y.size} values, which do not fill its y_shape {shape}.")
    measured = torch.from_numpy(y.copy()).reshape(shape)
    try:
        check_measurement(_shared_operator(*_operator_key(row)), measured.unsqueeze(0))
    except InputError as error:
        raise InputError(f"{_name(row)}: {error}") from None
    return measured


def stored_y(row: Mapping[str, Any]) -> np.ndarray[Any, np.dtype[np.float32]]:
    """The values of y in one line."""
    values = row["y"].values.to_numpy() if isinstance(row["y"], pa.ListScalar) else row["y"]
    return np.asarray(values, dtype=np.float32)


def build_row_operator(row: Mapping[str, Any]) -> Operator:
    """The operator that made the measurement, new for every call: `.to(...)` changes an operator in place."""
    try:
        return _operator(*_operator_key(row))
    except InputError as error:
        raise InputError(f"{_name(row)}: {error}") from None


def _operator_key(row: Mapping[str, Any]) -> tuple[str, str, tuple[int, ...]]:
    return row["operator"], row["operator_params"], tuple(int(side) for side in row["image_shape"])


def _operator(name: str, params: str, image_shape: tuple[int, ...]) -> Operator:
    try:
        values = json.loads(params)
    except ValueError:
        raise InputError(f"operator_params is {params!r}: it must be a JSON object.") from None
    return build_operator(name, values, image_shape=image_shape)


_shared_operator = lru_cache(maxsize=32)(_operator)


def _name(row: Mapping[str, Any]) -> str:
    return str(row.get("id", "the measurement"))
