"""From the names of diffusers' tensors to those of the original checkpoints: tables, and what applies them."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from torch import Tensor

from operators.errors import InputError

Rules = Sequence[tuple[str, str]]
"""Regular expressions and replacements, applied in order to a diffusers name."""

_ATTENTION: Rules = (
    (r"\.to_q\.", ".query."),
    (r"\.to_k\.", ".key."),
    (r"\.to_v\.", ".value."),
    (r"\.to_out\.0\.", ".proj."),
)

_TRANSFORMER: Rules = (
    (r"^latent_image_embedding\.", "content_emb."),
    (r"^transformer_blocks\.", "blocks."),
    (r"^norm_out\.", "to_logits.0."),
    (r"^out\.", "to_logits.1."),
    *_ATTENTION,
)

TEXT_TRANSFORMER: Rules = (
    *_TRANSFORMER,
    (r"\.norm1\.", ".ln1."),
    (r"\.norm2\.", ".ln1_1."),
    (r"\.norm3\.", ".ln2."),
    (r"\.ff\.net\.0\.proj\.", ".mlp.0."),
    (r"\.ff\.net\.2\.", ".mlp.2."),
    (r"^", "transformer."),
)
"""VQ-Diffusion: self- and cross-attention with their own adaptive norms."""

CLIP_TRANSFORMER: Rules = (
    *_TRANSFORMER,
    (r"\.norm1\.", ".ln1."),
    (r"\.norm2\.", ".ln2."),
    (r"\.attn1\.", ".attn."),
    (r"\.ff\.", ".mlp."),
    (r"^", "transformer."),
)
"""CLIP-VQDiffusion: self-attention, then an MLP under the condition's norm."""

_VQVAE: Rules = (
    (r"_blocks\.(\d+)\.resnets\.", r".\1.block."),
    (r"_blocks\.(\d+)\.attentions\.", r".\1.attn."),
    (r"_blocks\.(\d+)\.(down|up)samplers\.0\.", r".\1.\2sample."),
    (r"\.mid_block\.resnets\.0\.", ".mid.block_1."),
    (r"\.mid_block\.resnets\.1\.", ".mid.block_2."),
    (r"\.mid_block\.attentions\.0\.", ".mid.attn_1."),
    (r"\.conv_norm_out\.", ".norm_out."),
    (r"\.conv_shortcut\.", ".nin_shortcut."),
    (r"\.group_norm\.", ".norm."),
    (r"\.to_q\.", ".q."),
    (r"\.to_k\.", ".k."),
    (r"\.to_v\.", ".v."),
    (r"\.to_out\.0\.", ".proj_out."),
)

CODEBOOKS = ("quantize.embedding.weight", "quantize.embed.weight", "quantize.embedding")
"""taming's VQGAN, taming's Gumbel VQGAN, VQ-Diffusion's quantiser with averaged codes."""


def rename(name: str, rules: Rules) -> str:
    for pattern, replacement in rules:
        name = re.sub(pattern, replacement, name)
    return name


def original_vqvae_name(name: str, levels: int, state: Mapping[str, Tensor]) -> str:
    """The decoder counts its levels from the image there, from the latents in diffusers."""
    if name == "quantize.embedding.weight":
        return next((found for found in CODEBOOKS if found in state), name)
    name = re.sub(r"(?<=^decoder\.up_blocks\.)\d+", lambda level: str(levels - 1 - int(level.group())), name)
    return rename(name, _VQVAE)


def take(
    target: Mapping[str, Tensor], names: Mapping[str, str], state: Mapping[str, Tensor], path: Path
) -> dict[str, Tensor]:
    """The original tensors under the target's names and shapes; a missing or misshapen one is named."""
    taken = {}
    for name, wanted in target.items():
        source = names[name]
        if source not in state:
            raise InputError(f"checkpoint {path}: tensor {source!r} is missing; does the YAML file belong to it?")
        value = state[source]
        # 1x1 convolutions there are linear layers in diffusers
        if value.dim() == wanted.dim() + 2 and value.shape[-2:] == (1, 1):
            value = value[..., 0, 0]
        if value.shape != wanted.shape:
            raise InputError(
                f"checkpoint {path}: tensor {source!r} is {tuple(state[source].shape)}, but the YAML file asks for "
                f"{tuple(wanted.shape)}."
            )
        taken[name] = value.to(wanted.dtype)
    return taken
