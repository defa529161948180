"""A prior that knows the noise and nothing else: what a trained prior's knowledge is held against.

Its tokeniser is the trained one's. A token that is not masked it keeps, as every VQ-Diffusion prior does, and a masked
one may be any code, whatever stands around it and whatever the prompt says.
"""

import json
import shutil
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from g2d2.priors.families import prior_digest
from operators import InputError

WEIGHTS = Path("transformer/diffusion_pytorch_model.safetensors")
MADE = "made-from.json"
VERSION = 2
"""Raised when another transformer is written for the same prior."""
_EMBEDDING = "latent_image_embedding.emb.weight"
_SIDES = ("latent_image_embedding.height_emb.weight", "latent_image_embedding.width_emb.weight")
_NEEDED = (_EMBEDDING, *_SIDES, "out.weight", "out.bias", "norm_out.weight", "norm_out.bias")
_BLOCK_ENDS = ("attn1.to_out.0", "attn2.to_out.0", "ff.net.2")
_COPIES = 40.0
"""Logit of a token's own code; those of others lie around 0, so that it is kept with near certainty."""


def write_uninformed(prior: Path, out: Path) -> Path:
    """Copy a prior's folder to `out` with such a transformer; a copy of the same prior that is there is kept."""
    made = json.dumps({"version": VERSION, "prior": prior_digest(prior)})
    if (out / MADE).is_file() and (out / MADE).read_text() == made:
        return out
    if not (prior / WEIGHTS).is_file():
        raise InputError(f"prior {prior}: it has no {WEIGHTS}, which is needed to make an uninformed copy of it.")
    weights = load_file(prior / WEIGHTS)
    lacking = [name for name in _NEEDED if name not in weights]
    if lacking:
        raise InputError(f"prior {prior}: its transformer has no {', '.join(lacking)} to write over.")
    unfinished = out.with_name(f"{out.name}.part")
    shutil.rmtree(unfinished, ignore_errors=True)
    shutil.copytree(prior, unfinished)
    save_file(uninformed(weights), unfinished / WEIGHTS, metadata={"format": "pt"})
    (unfinished / MADE).write_text(made)
    shutil.rmtree(out, ignore_errors=True)
    unfinished.rename(out)
    return out


def uninformed(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Blocks add nothing, so that a place holds its own token alone; the last layer reads which code that is."""
    silent = [name for name in weights if name.rpartition(".")[0].endswith(_BLOCK_ENDS)]
    changed = {name: torch.zeros_like(weights[name]) for name in (*silent, *_SIDES, "norm_out.bias", "out.bias")}
    classes, width = weights[_EMBEDDING].shape
    # half of every row is 1 and half -1: the last norm leaves it as it is, and another's row is nearly orthogonal to it
    order = torch.rand(classes - 1, width, generator=torch.Generator().manual_seed(0)).argsort(dim=1)
    signs = torch.where(order < width // 2, 1.0, -1.0).to(weights[_EMBEDDING])
    mask = torch.zeros(1, width).to(signs)  # the norm makes nothing of nothing: every code gets the logit 0
    changed[_EMBEDDING] = torch.cat([signs, mask])
    changed["out.weight"] = signs * (_COPIES / width)
    changed["norm_out.weight"] = torch.ones_like(weights["norm_out.weight"])
    return weights | changed
