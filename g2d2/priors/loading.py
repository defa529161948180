"""Find a prior by name, folder or hub id, and load its components with clear errors."""

from pathlib import Path
from typing import Any

import torch
from diffusers.models.modeling_utils import ModelMixin
from diffusers.utils import logging as diffusers_logging
from transformers.utils import logging as transformers_logging

from g2d2.priors.catalog import CATALOG, Home, KnownPrior, conversion_hint, packaged_folder
from g2d2.priors.checking import check_folder
from g2d2.priors.layout import COMPONENTS, WEIGHT_STEMS, read_json, weight_files
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


def locate_prior(source: str | Path, *, download: bool = True) -> Path:
    """The folder behind a name, path or hub id; without `download` the hub's cache must hold it already."""
    text = str(source)
    known = CATALOG.get(text)
    if known is not None:
        return _locate_known(known, download)
    folder = Path(text).expanduser()
    if folder.is_dir():
        return folder
    if text.startswith((".", "/", "~")) or text.count("/") != 1:
        raise InputError(
            f"prior: {text!r} is neither a folder here, a known name ({', '.join(CATALOG)}) nor a hub id "
            "like 'microsoft/vq-diffusion-ithq'."
        )
    return fetch_from_hub(text, download=download)


def _locate_known(known: KnownPrior, download: bool) -> Path:
    if known.home is Home.PACKAGED:
        return packaged_folder(known)
    if known.home is Home.CONVERTED:
        raise InputError(conversion_hint(known))
    return fetch_from_hub(known.location, revision=known.revision, download=download)


def _load_components(folder: Path) -> Components:
    check_folder(folder)
    return Components(**{name: load_component(folder, name) for name in COMPONENT_CLASSES})


def load_component(folder: Path, name: str) -> Any:
    """One part, by the class its own configuration names."""
    options: dict[str, Any] = {"subfolder": name, "local_files_only": True}
    if name in WEIGHT_STEMS:
        options["use_safetensors"] = _has_safetensors(folder, name)  # left to itself, diffusers logs an error per guess
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


def _has_safetensors(folder: Path, name: str) -> bool:
    return any(path.suffix == ".safetensors" for path in weight_files(folder, name))


def _component_class(folder: Path, name: str) -> Any:
    if name in ("scheduler", "tokenizer"):
        return COMPONENT_CLASSES[name]
    config = read_json(folder / name / "config.json")
    named = config.get("_class_name") or next(iter(config.get("architectures") or []), None)
    return OTHER_CLASSES.get(str(named), COMPONENT_CLASSES[name])


_OTHER_PRECISIONS = ("*.fp16.*", "*.bf16.*", "*.non_ema.*")
"""Variants beside the full weights: loading does not use them, and their presence says nothing about the full ones."""


def fetch_from_hub(
    repository: str, *, revision: str | None = None, to: Path | None = None, download: bool = True
) -> Path:
    """The local copy of a hub repository, downloaded once; safetensors where they exist, plain tensors elsewhere."""
    import huggingface_hub

    huggingface_hub.logging.set_verbosity_error()  # its retries would fill the terminal before the reason is known

    def snapshot(*patterns: str) -> Path:
        return Path(
            huggingface_hub.snapshot_download(
                repository,
                revision=revision,
                allow_patterns=list(patterns),
                ignore_patterns=list(_OTHER_PRECISIONS),
                local_dir=to,
                local_files_only=not download,
            )
        )

    try:
        endings = ("json", "txt", "safetensors")
        folder = snapshot(*(f"{name}/*.{ending}" for name in COMPONENTS for ending in endings))
        pickled = [name for name in WEIGHT_STEMS if not _has_safetensors(folder, name)]
        if pickled:
            folder = snapshot(*(f"{name}/*.bin" for name in pickled))
    except (huggingface_hub.errors.HfHubHTTPError, OSError, ValueError) as error:
        offline = huggingface_hub.constants.HF_HUB_OFFLINE
        hint = "offline mode is on (HF_HUB_OFFLINE)" if offline else "check the name and the connection"
        raise InputError(
            f"prior: {repository!r} cannot be fetched from the hub and is not in its local cache "
            f"({type(error).__name__}); {hint}, or give a folder."
        ) from error
    return folder
