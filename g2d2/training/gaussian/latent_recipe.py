"""The latent prior: diffusion on a VQ tokeniser's latents before quantisation, in the layout of `LDMPipeline`."""

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import torch
from diffusers import DDIMScheduler, UNet2DModel, VQModel
from diffusers.pipelines.deprecated.latent_diffusion_uncond.pipeline_latent_diffusion_uncond import LDMPipeline
from torch import Tensor

from g2d2.training.folders import halved, replacing
from g2d2.training.gaussian.unet_settings import UNetSettings
from g2d2.training.gaussian.unet_stage import UNetStage
from g2d2.training.gaussian.vp_noise import build_scheduler, deterministic
from g2d2.training.loop import run_stage
from g2d2.training.run import claim, read_split, take_device, write_curve
from g2d2.training.settings import Recipe, StageLimits
from g2d2.training.tokenisers import encode_latents, encoded_once, take_tokeniser

HELD_OUT = 256
"""Test images in the reports during training."""


class LatentRecipe(Recipe):
    """An unconditional `UNet2DModel` on latents."""

    family: ClassVar[str] = "latent_diffusion"
    fixed: ClassVar[frozenset[str]] = frozenset({"seed", "tokeniser", "unet"})

    tokeniser: Path
    """Folder of a prior whose `vqvae` makes the latents; it is exported unchanged but for its scaling factor."""
    unet: UNetSettings = UNetSettings(channels=(120, 120), attention_levels=2, head_dim=40, timestep_skew=1.0, batch=64)
    """The network and how it learns."""
    limits: StageLimits = StageLimits(minutes=60, report_every=250)
    """Budget of the training."""


def train_latent(recipe: LatentRecipe, log: Callable[[str], None] = print) -> Path:
    """Encode once, train, or go on where an earlier run stopped; return the exported folder."""
    claim(recipe)
    device = take_device(recipe)
    train, test = read_split(recipe, "train"), read_split(recipe, "test")
    log(f"{len(train)} training images, {len(test)} test images, on {device}")
    vqvae = take_tokeniser(recipe.tokeniser).to(device)
    log("encoding the training images, flips included")
    latents = encoded_once(recipe.out / "latents.safetensors", train, lambda x: encode_latents(vqvae, x).half())
    vqvae.register_to_config(scaling_factor=scaling_factor(latents))
    held_out = encode_latents(vqvae, test.images[:HELD_OUT])
    stage = latent_stage(recipe, latents, held_out, vqvae.config.scaling_factor, device)

    def export() -> None:
        export_latent(recipe.exported, vqvae, stage.average)

    write_curve(recipe.out, stage.name, run_stage(stage, recipe.limits, recipe.out, on_save=export))
    export()
    log(f"exported to {recipe.exported}")
    return recipe.exported


def scaling_factor(latents: Tensor) -> float:
    """What brings latents to unit variance, in six digits: one number for all channels, as diffusers stores it."""
    return float(f"{1 / latents.float().std().item():.6g}")


def latent_stage(
    recipe: LatentRecipe, latents: Tensor, held_out: Tensor, scale: float, device: torch.device
) -> UNetStage:
    """The one stage of the recipe; scaled latents have unit variance, the peak of its decibels."""

    def draw(count: int, generator: torch.Generator) -> Tensor:
        rows = torch.randint(latents.shape[1], (count,), generator=generator)
        flips = torch.randint(len(latents), (count,), generator=generator)
        return latents[flips, rows].float() * scale

    scheduler = build_scheduler(clip=False)
    return UNetStage(recipe.unet, scheduler, draw, held_out * scale, 1.0, recipe.seed, recipe.bf16, device)


def export_latent(folder: Path, vqvae: VQModel, unet: UNet2DModel) -> None:
    """Write tokeniser, network and scheduler in the layout of `LDMPipeline`; the tokeniser stays in float32."""
    scheduler: DDIMScheduler = deterministic(build_scheduler(clip=False))
    with replacing(folder) as fresh:
        pipeline = LDMPipeline(vqvae=vqvae, unet=halved(unet), scheduler=scheduler)
        pipeline.save_pretrained(fresh, safe_serialization=True)
