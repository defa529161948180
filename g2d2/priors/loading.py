"""Load the components of a prior, with clear errors."""

from pathlib import Path
from typing import Any

import torch

from g2d2.priors.checking import check_folder
from g2d2.priors.digest import prior_digest
from g2d2.priors.layout import WEIGHT_STEMS, read_json
from g2d2.priors.locating import locate_prior
from g2d2.priors.probe import PROBE_ROWS
from g2d2.priors.strict_weights import load_network, quiet_libraries
from g2d2.priors.vq_diffusion import COMPONENT_CLASSES, OTHER_CLASSES, Components, VQDiffusionPrior
from operators import InputError
from operators.torch_device import usable_device
from operators.validation import shorten

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
    rows: int = PROBE_ROWS,
    digest: str | None = None,
) -> VQDiffusionPrior:
    """A frozen prior from a name of the catalog (`cifar10`, `ithq`), a folder in diffusers' layout or a hub id.

    `rows` is the batch a compiled prior is compiled and tried for; with `digest` a prior of another one is refused.
    """
    if dtype not in DTYPES:
        raise InputError(f"dtype: {dtype!r} is unknown; choose one of {', '.join(DTYPES)}.")
    place = usable_device(device)
    folder = locate_prior(source)
    components = load_components(folder)
    # after loading: files that are written anew meanwhile are then noticed too
    if digest is not None and (present := prior_digest(folder)) != digest:
        raise InputError(
            f"prior: {str(source)!r} has digest {present[:12]} on this machine, but the work was planned with "
            f"{digest[:12]}: its files were changed since, or differ between machines; plan again."
        )
    return VQDiffusionPrior(
        components,
        device=place,
        dtype=DTYPES[dtype],
        channels_last=channels_last,
        compile_networks=compile_networks,
        rows=rows,
    )


def load_components(folder: Path) -> Components:
    """Every part of a prior's folder, checked and strictly loaded."""
    check_folder(folder)
    components = Components(**{name: load_component(folder, name) for name in COMPONENT_CLASSES})
    _check_tokenizer(folder, components)
    return components


def _check_tokenizer(folder: Path, components: Components) -> None:
    """Its tokens are those of the text encoder, which would else be asked for rows that it does not have."""
    tokenizer, text = components.tokenizer, components.text_encoder.config
    limit, positions = tokenizer.model_max_length, text.max_position_embeddings
    if not isinstance(limit, int) or not 1 <= limit <= positions:
        raise InputError(
            f"prior: {folder / 'tokenizer' / 'tokenizer_config.json'} has model_max_length {shorten(limit)}; it must "
            f"be a whole number up to {positions}, the text encoder's max_position_embeddings."
        )
    if len(tokenizer) > text.vocab_size:
        raise InputError(
            f"prior: the tokenizer in {folder / 'tokenizer'} has {len(tokenizer)} tokens, and the text encoder knows "
            f"{text.vocab_size}; they do not belong together."
        )


def load_component(folder: Path, name: str) -> Any:
    """One part, by the class its own configuration names."""
    kind = _component_class(folder, name)
    try:
        if name in WEIGHT_STEMS:
            return load_network(kind, folder, name)
        with quiet_libraries():
            return kind.from_pretrained(str(folder), subfolder=name, local_files_only=True)
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
