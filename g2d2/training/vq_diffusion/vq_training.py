"""`train_vq_diffusion`: data, tokeniser, tokens, prior, export, in this order and resumable at every point."""

from collections.abc import Callable
from pathlib import Path

import torch
from diffusers import VQModel

from g2d2.training.data import Split
from g2d2.training.loop import run_stage
from g2d2.training.run import claim, read_split, take_device, write_curve
from g2d2.training.tokenisers import encoded_once, take_tokeniser
from g2d2.training.vq_diffusion.token_transformer import TransformerStage
from g2d2.training.vq_diffusion.vq_export import export_prior
from g2d2.training.vq_diffusion.vq_recipe import VQDiffusionRecipe
from g2d2.training.vq_diffusion.vqvae import VQVAEStage, encode_tokens, token_side

_HELD_OUT_IMAGES = 512
_HELD_OUT_TOKENS = 128


def train_vq_diffusion(recipe: VQDiffusionRecipe, log: Callable[[str], None] = print) -> Path:
    """Train both stages, or go on where an earlier run stopped; return the exported folder."""
    claim(recipe)
    device = take_device(recipe)
    train, test = read_split(recipe, "train"), read_split(recipe, "test")
    log(f"{len(train)} training images, {len(test)} test images, on {device}")

    encoded = recipe.out / "tokens.safetensors"
    vqvae = _tokeniser(recipe, train, test, encoded, device)

    log("encoding the training images, flips included")
    small = torch.int16 if vqvae.config.num_vq_embeddings <= 2**15 else torch.int32
    tokens = encoded_once(encoded, train, lambda images: encode_tokens(vqvae, images).to(small))  # (2, N, D)
    held_out = encode_tokens(vqvae, test.images[:_HELD_OUT_TOKENS]), test.labels[:_HELD_OUT_TOKENS]
    second = TransformerStage(recipe, tokens, train.labels, held_out, token_side(recipe.vqvae), device)
    if recipe.start is not None:
        second.start_from(recipe.start)

    def export() -> None:
        export_prior(recipe.exported, vqvae, second.average, second.scheduler)

    write_curve(recipe.out, second.name, run_stage(second, recipe.transformer_limits, recipe.out, on_save=export))
    export()
    log(f"exported to {recipe.exported}")
    return recipe.exported


def _tokeniser(recipe: VQDiffusionRecipe, train: Split, test: Split, encoded: Path, device: torch.device) -> VQModel:
    if recipe.start is not None:
        return take_tokeniser(recipe.start).to(device)
    stage = VQVAEStage(recipe, train, test.images[:_HELD_OUT_IMAGES], device)
    # A larger budget must not move the codes under tokens that the prior has already learnt from.
    history = run_stage(stage, recipe.vqvae_limits, recipe.out, frozen=encoded.exists())
    write_curve(recipe.out, stage.name, history)
    return stage.vqvae.eval().requires_grad_(False)
