"""Single measurements in files: NAME-measurement.npy as measured, beside it the rest of a manifest's row as .json."""

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from operators import InputError, Operator
from operators.path import Path as KeyPoints
from operators.pictures import write_bytes, write_npy
from operators.validation import shorten
from pipelines.manifest.schema import canonical_json
from pipelines.storage import Store, StoreError

MEASURED = "-measurement"
"""What such a file's name has after the name of its clip or picture."""
_FACTS = {
    "signal": str, "operator": str, "params": dict, "x_shape": list, "y_shape": list, "sigma": float, "seed": int,
    "prompt": str,
}  # fmt: skip


def write_measurement(
    name: str, y: Tensor, operator: Operator, *, called: str, sigma: float, seed: int, prompt: str, out: Path
) -> Path:
    """Both files; the path of the .npy. `called` is the operator's name as it was asked for.

    Positions say little without their frames, which are named here.
    """
    own = operator.row_settings[0]
    params = own.model_dump(mode="json")
    if isinstance(operator, KeyPoints):
        params["frames"] = operator.frames[0].tolist()
    facts = {
        "id": name,
        "signal": operator.signal,
        "operator": called,
        "sigma": sigma,
        "seed": seed,
        "prompt": prompt,
        "params": params,
        "x_shape": list(operator.x_shape),
        "y_shape": list(operator.y_shape),
    }
    stored = out / f"{name}{MEASURED}.npy"
    write_npy(y, stored)
    write_bytes(json.dumps(facts, indent=1).encode(), stored.with_suffix(".json"))
    return stored


def read_measurement_row(store: Store, name: str) -> dict[str, Any]:
    """The files of one name as a manifest's row without truth; an InputError says which cannot be read."""
    facts = _facts(store, f"{name}{MEASURED}.json")
    try:
        content = io.BytesIO(store.read_bytes(f"{name}{MEASURED}.npy"))
        y = np.lib.format.read_array(content, allow_pickle=False).astype(np.float32)
    except (StoreError, ValueError, EOFError, OSError):
        raise InputError(f"measurement {name}: {name}{MEASURED}.npy is missing or no array of numbers.") from None
    if list(y.shape) != facts["y_shape"]:
        raise InputError(f"measurement {name}: y has shape {list(y.shape)} and its .json says {facts['y_shape']}.")
    own = {key: facts[key] for key in ("signal", "operator", "x_shape", "y_shape", "sigma", "seed", "prompt")}
    return own | {"id": name, "operator_params": canonical_json(facts["params"]), "y": y.ravel(), "truth": None}


def _facts(store: Store, file: str) -> dict[str, Any]:
    try:
        facts = json.loads(store.read_bytes(file))
    except (StoreError, ValueError, RecursionError):
        raise InputError(f"measurement {file}: it cannot be read as JSON.") from None
    facts = {"prompt": ""} | facts if isinstance(facts, dict) else {}  # files of earlier versions name none
    for name, kind in _FACTS.items():
        value = facts.get(name)
        if not isinstance(value, (kind, int) if kind is float else kind):
            raise InputError(f"measurement {file}: {name} is {shorten(value)}: it must be of type {kind.__name__}.")
    whole: dict[str, Any] = facts
    return whole
