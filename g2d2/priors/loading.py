"""Find a prior by name, folder or hub id, and load its components with clear errors."""

from pathlib import Path
from typing import Any

import torch
from diffusers.utils import logging as diffusers_logging
from transformers.utils import logging as transformers_logging

from g2d2.priors.vq_diffusion import COMPONENT_CLASSES, Components, VQDiffusionPrior
from operators import InputError

NAMED_PRIORS = {"ithq": "microsoft/vq-diffusion-ithq"}
"""Short names of known priors."""

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
    """A frozen prior from a name (`ithq`), a folder in diffusers' layout or a hub id."""
    if dtype not in DTYPES:
        raise InputError(f"dtype: {dtype!r} is unknown; choose one of {', '.join(DTYPES)}.")
    device = torch.device(device)
    if device.type == "cuda" and not torch.cuda.is_available():
        raise InputError(f"device: {str(device)!r} was asked for, but torch sees no CUDA device; use 'cpu'.")
    for library in (diffusers_logging, transformers_logging):
        library.disable_progress_bar()  # they draw bars even into log files
    components = _load_components(NAMED_PRIORS.get(str(source), str(source)))
    return VQDiffusionPrior(
        components,
        device=device,
        dtype=DTYPES[dtype],
        channels_last=channels_last,
        compile_networks=compile_networks,
    )


def _load_components(source: str) -> Components:
    folder = Path(source).expanduser()
    if not folder.is_dir():
        if source.startswith((".", "/", "~")) or source.count("/") != 1:
            raise InputError(
                f"prior: {source!r} is neither a folder here, a known name ({', '.join(NAMED_PRIORS)}) nor a hub id "
                "like 'microsoft/vq-diffusion-ithq'."
            )
        folder = fetch_from_hub(source)
    for name in COMPONENT_CLASSES:
        if not (folder / name).is_dir():
            raise InputError(f"prior: {source!r} has no folder {name!r}; it must hold {', '.join(COMPONENT_CLASSES)}.")
    return Components(**{name: _load_component(folder, name) for name in COMPONENT_CLASSES})


def _load_component(folder: Path, name: str) -> Any:
    try:
        return COMPONENT_CLASSES[name].from_pretrained(str(folder), subfolder=name, local_files_only=True)
    except Exception as error:  # every loader has its own zoo of exceptions for a damaged or missing file
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"prior: component {name!r} of {str(folder)!r} cannot be loaded ({reason}).") from error


def fetch_from_hub(repository: str) -> Path:
    """The local copy of a hub repository, downloaded once; safetensors where they exist, plain tensors elsewhere."""
    import huggingface_hub

    huggingface_hub.logging.set_verbosity_error()  # its retries would fill the terminal before the reason is known

    def snapshot(*endings: str) -> Path:
        patterns = [f"{name}/*{ending}" for name in COMPONENT_CLASSES for ending in endings]
        return Path(huggingface_hub.snapshot_download(repository, allow_patterns=patterns))

    try:
        folder = snapshot(".json", ".txt", ".safetensors")
        if not list((folder / "transformer").glob("*.safetensors")):
            folder = snapshot(".bin")
    except (huggingface_hub.errors.HfHubHTTPError, OSError, ValueError) as error:
        raise InputError(
            f"prior: {repository!r} cannot be fetched from the hub and is not in its local cache "
            f"({type(error).__name__}); check the name and the connection, or give a folder."
        ) from error
    return folder
