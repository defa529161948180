"""`train_masked`: tokeniser, tokens, prior, export in the layout of `AmusedPipeline`, resumable at every point."""

from collections.abc import Callable
from pathlib import Path

import torch
from diffusers import AmusedScheduler, VQModel
from diffusers.pipelines.deprecated.amused.pipeline_amused import AmusedPipeline

from g2d2.training.data import PROMPTS, Split
from g2d2.training.folders import halved, replacing
from g2d2.training.loop import run_stage
from g2d2.training.masked_image.masked_settings import MaskedRecipe
from g2d2.training.masked_image.unit_range import RangeStage, encode_unit_tokens, fold_unit_range
from g2d2.training.masked_image.uvit_stage import MaskedPrior, UViTStage
from g2d2.training.run import claim, drawing, read_split, take_device, write_curve
from g2d2.training.tokenisers import encoded_once, take_tokeniser
from g2d2.training.vq_diffusion.prompt_text import save_tokenizer

_HELD_OUT = 256


def train_masked(recipe: MaskedRecipe, log: Callable[[str], None] = print) -> Path:
    """Train both stages, or go on where an earlier run stopped; return the exported folder."""
    claim(recipe)
    device = take_device(recipe)
    train, test = read_split(recipe, "train"), read_split(recipe, "test")
    log(f"{len(train)} training images, {len(test)} test images, on {device}")
    encoded = recipe.out / "tokens.safetensors"
    vqvae = _moved_tokeniser(recipe, train, test, encoded.exists(), device)

    log("encoding the training images, flips included")
    tokens = encoded_once(encoded, train, lambda images: encode_unit_tokens(vqvae, images).int())  # (2, N, D)
    held_out = encode_unit_tokens(vqvae, test.images[:_HELD_OUT]), test.labels[:_HELD_OUT]
    stage = UViTStage(recipe, tokens, train.labels, held_out, vqvae.config.num_vq_embeddings, device)

    def export() -> None:
        export_masked(recipe.exported, vqvae, stage.average)

    write_curve(recipe.out, stage.name, run_stage(stage, recipe.limits, recipe.out, on_save=export))
    export()
    log(f"exported to {recipe.exported}")
    return recipe.exported


def _moved_tokeniser(recipe: MaskedRecipe, train: Split, test: Split, frozen: bool, device: torch.device) -> VQModel:
    """The tokeniser for pixels in [0, 1]; frozen once tokens were made with it."""
    before = take_tokeniser(recipe.tokeniser).to(device)
    moved = take_tokeniser(recipe.tokeniser, lookup_from_codebook=True).to(device)
    fold_unit_range(moved)
    stage = RangeStage(
        recipe.unit_range, before, moved, drawing(train.images), test.images[:_HELD_OUT], recipe.seed, device
    )
    write_curve(recipe.out, stage.name, run_stage(stage, recipe.range_limits, recipe.out, frozen=frozen))
    return moved.requires_grad_(False)


def export_masked(folder: Path, vqvae: VQModel, prior: MaskedPrior) -> None:
    """Write every component under its own subfolder, the transformer in float16.

    The text encoder is not: transformers would load it as it lies on disk, unlike diffusers.
    """
    pipeline = AmusedPipeline(
        vqvae=vqvae,
        tokenizer=prior.tokenizer,
        text_encoder=prior.text_encoder,
        transformer=halved(prior.transformer),
        scheduler=AmusedScheduler(mask_token_id=prior.mask_id),
    )
    with replacing(folder) as fresh:
        pipeline.save_pretrained(fresh, safe_serialization=True)
        save_tokenizer(prior.tokenizer, PROMPTS, fresh / "tokenizer")
