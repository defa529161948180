"""Load the components of a prior, with clear errors."""

from pathlib import Path
from typing import Any

import torch
from diffusers.models.modeling_utils import ModelMixin
from diffusers.utils import logging as diffusers_logging
from transformers.utils import logging as transformers_logging

from g2d2.priors.checking import check_folder
from g2d2.priors.layout import WEIGHT_STEMS, read_json
from g2d2.priors.locating import has_safetensors, locate_prior
from g2d2.priors.vq_diffusion import COMPONENT_CLASSES, OTHER_CLASSES, Components, VQDiffusionPrior
from operators import InputError

DTYPES = {
    "float32": torch.float32,
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
    "float64": torch.float64,
}


def load_prior(
    source: str | Path,
    *,
    device: torch.device | str = "cpu",
    dtype: str = "float32",
    channels_last: bool = False,
    compile_networks: bool = False,
) -> VQDiffusionPrior:
    """A frozen prior from a name of the catalog (`cifar10`, `ithq`), a folder in diffusers' layout or a hub id."""
    if dtype not in DTYPES:
        raise InputError(f"dtype: {dtype!r} is unknown; choose one of {', '.join(DTYPES)}.")
    device = torch.device(device)
    if device.type == "cuda" and not torch.cuda.is_available():
        raise InputError(f"device: {str(device)!r} was asked for, but torch sees no CUDA device; use 'cpu'.")
    for library in (diffusers_logging, transformers_logging):
        library.disable_progress_bar()  # they draw bars even into log files
    return VQDiffusionPrior(
        _load_components(locate_prior(source)),
        device=device,
        dtype=DTYPES[dtype],
        channels_last=channels_last,
        compile_networks=compile_networks,
    )


def _load_components(folder: Path) -> Components:
    check_folder(folder)
    return Components(**{name: load_component(folder, name) for name in COMPONENT_CLASSES})


def load_component(folder: Path, name: str) -> Any:
    """One part, by the class its own configuration names."""
    options: dict[str, Any] = {"subfolder": name, "local_files_only": True}
    if name in WEIGHT_STEMS:
        options["use_safetensors"] = has_safetensors(folder, name)  # left to itself, diffusers logs an error per guess
    kind = _component_class(folder, name)
    if issubclass(kind, ModelMixin):
        options["low_cpu_mem_usage"] = False  # the sparing way needs another package, which diffusers would recommend
    try:
        return kind.from_pretrained(str(folder), **options)
    except InputError:
        raise
    except Exception as error:  # every loader has its own zoo of exceptions for a damaged or missing file
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"prior: component {name!r} of {str(folder)!r} cannot be loaded ({reason}).") from error


def _component_class(folder: Path, name: str) -> Any:
    if name in ("scheduler", "tokenizer"):
        return COMPONENT_CLASSES[name]
    config = read_json(folder / name / "config.json")
    named = config.get("_class_name") or next(iter(config.get("architectures") or []), None)
    return OTHER_CLASSES.get(str(named), COMPONENT_CLASSES[name])
