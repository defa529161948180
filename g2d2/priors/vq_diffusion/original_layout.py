"""Read VQ-Diffusion and CLIP-VQDiffusion as their authors publish them: YAML files and pickled tensors."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from g2d2.priors.plain_tensors import read_plain
from operators import plain_yaml
from operators.errors import InputError
from operators.plain_yaml import PlainLoader

State = dict[str, Tensor]

WEIGHTS = ("ema", "model")
"""Averaged weights, which the authors use, or those of the last step."""

_ANCHOR = "transformer.content_emb.emb.weight"
"""Present in every diffusion model of this family, whatever its conditioning."""


class _TupleLoader(PlainLoader):
    """Plain YAML plus the tuples these configurations write; every other Python tag stays refused."""


def _sequence(loader: PlainLoader, node: Any) -> list[Any]:
    return loader.construct_sequence(node, deep=True)


_TupleLoader.add_constructor("tag:yaml.org,2002:python/tuple", _sequence)


def read_yaml(path: str | Path) -> dict[str, Any]:
    """The `model` section: `target`, and `params`."""
    content = plain_yaml.read_yaml(path, "config", loader=_TupleLoader).content
    model = content.get("model") if isinstance(content, dict) else None
    if not isinstance(model, dict) or not isinstance(model.get("params"), dict):
        raise InputError(f"config {path}: it has no section model.params.")
    return model


def entry(config: Mapping[str, Any], *keys: str, where: str) -> Any:
    """A nested value of a configuration, or a sentence naming the missing key."""
    value: Any = config
    for i, key in enumerate(keys):
        if not isinstance(value, Mapping) or key not in value:
            raise InputError(f"config {where}: {'.'.join(keys[: i + 1])} is missing.")
        value = value[key]
    return value


def allow(value: Any, allowed: tuple[Any, ...], key: str, where: str) -> Any:
    """The value, or a sentence on what the converter can represent."""
    if value not in allowed:
        known = " or ".join(map(repr, allowed))
        raise InputError(
            f"config {where}: {key} is {value!r}, which the converter does not support; it must be {known}."
        )
    return value


def read_diffusion(path: str | Path, weights: str) -> tuple[State, State]:
    """Tensors of the diffusion model under the names its EMA copy uses, and of the tokeniser stored with it, if any."""
    content = read_plain(path)
    if not isinstance(content, Mapping):
        raise InputError(f"checkpoint {path}: it holds a {type(content).__name__}, not named tensors.")
    if isinstance(content.get("model"), Mapping) or isinstance(content.get("ema"), Mapping):
        model, ema = _tensors(content.get("model")), _tensors(content.get("ema"))
    else:
        # a released file holds one state dict by itself: the user's choice has nothing to choose from
        model, ema = _tensors(content), {}
    if ema and weights == "ema":
        diffusion = ema
    elif any(name.startswith("transformer." + _ANCHOR) for name in model):
        diffusion = {
            name.removeprefix("transformer."): value for name, value in model.items() if name.startswith("transformer.")
        }
    else:
        diffusion = model
    if _ANCHOR not in diffusion:
        raise InputError(
            f"checkpoint {path}: it has no {_ANCHOR!r}; it is not a VQ-Diffusion checkpoint, or has no {weights!r} "
            "weights."
        )
    return diffusion, _codec(model)


_CODEC_HOMES = (
    ("content_codec.enc.encoder.", "encoder."),
    ("content_codec.enc.quant_conv.", "quant_conv."),
    ("content_codec.enc.quantize.", "quantize."),
    ("content_codec.dec.decoder.", "decoder."),
    ("content_codec.dec.post_quant_conv.", "post_quant_conv."),
)
"""Where a whole training checkpoint keeps its frozen tokeniser."""


def _codec(model: State) -> State:
    return {
        home + name.removeprefix(prefix): value
        for name, value in model.items()
        for prefix, home in _CODEC_HOMES
        if name.startswith(prefix)
    }


def read_vqvae(path: str | Path) -> State:
    """Tensors of a tokeniser's own checkpoint: under `state_dict` (taming), `model` (VQ-Diffusion), or bare."""
    content = read_plain(path)
    for key in ("state_dict", "model"):
        if isinstance(content, Mapping) and isinstance(content.get(key), Mapping):
            content = content[key]
    state = _tensors(content)
    if "decoder.conv_in.weight" not in state:
        raise InputError(f"checkpoint {path}: it has no 'decoder.conv_in.weight'; it is not a VQGAN checkpoint.")
    return state


def _tensors(content: Any) -> State:
    if not isinstance(content, Mapping):
        return {}
    return {str(name): value for name, value in content.items() if isinstance(value, torch.Tensor)}
