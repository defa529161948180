"""A prior that knows nothing but keeps its tokeniser: what a trained prior's knowledge is held against."""

import shutil
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from operators import InputError

WEIGHTS = Path("transformer/diffusion_pytorch_model.safetensors")
LAST_LAYER = ("out.weight", "out.bias")
"""The layer that gives one logit per code; zeros make every code equally likely."""


def write_uninformed(prior: Path, out: Path) -> Path:
    """Copy a prior's folder to `out` with the transformer's last layer zeroed; a copy that is there is kept."""
    if (out / WEIGHTS).is_file():
        return out
    if not (prior / WEIGHTS).is_file():
        raise InputError(f"prior {prior}: it has no {WEIGHTS}, which is needed to make an uninformed copy of it.")
    weights = load_file(prior / WEIGHTS)
    lacking = [name for name in LAST_LAYER if name not in weights]
    if lacking:
        raise InputError(f"prior {prior}: its transformer has no {', '.join(lacking)} to set to zero.")
    unfinished = out.with_name(f"{out.name}.part")
    shutil.rmtree(unfinished, ignore_errors=True)
    shutil.copytree(prior, unfinished)
    zeroed = {name: torch.zeros_like(weights[name]) for name in LAST_LAYER}
    save_file(weights | zeroed, unfinished / WEIGHTS, metadata={"format": "pt"})
    unfinished.rename(out)
    return out
