"""The pixel prior: a DDPM of CIFAR-10 that the stock `DDPMPipeline` loads and samples."""

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import torch
from diffusers import DDPMPipeline, DDPMScheduler, UNet2DModel

from g2d2.training.data import to_float
from g2d2.training.folders import halved, replacing
from g2d2.training.gaussian.unet_settings import UNetSettings
from g2d2.training.gaussian.unet_stage import UNetStage
from g2d2.training.gaussian.vp_noise import build_scheduler
from g2d2.training.loop import run_stage
from g2d2.training.run import claim, drawing, read_split, take_device, write_curve
from g2d2.training.settings import Recipe, StageLimits

HELD_OUT = 128
"""Test images in the reports during training."""


class PixelRecipe(Recipe):
    """An unconditional `UNet2DModel` on pixels."""

    family: ClassVar[str] = "pixel_diffusion"
    fixed: ClassVar[frozenset[str]] = frozenset({"seed", "unet"})

    unet: UNetSettings = UNetSettings(channels=(48, 96, 96), attention_levels=1)
    """The network and how it learns."""
    limits: StageLimits = StageLimits(minutes=80, report_every=250)
    """Budget of the training."""


def train_pixel(recipe: PixelRecipe, log: Callable[[str], None] = print) -> Path:
    """Train, or go on where an earlier run stopped; return the exported folder."""
    claim(recipe)
    device = take_device(recipe)
    train, test = read_split(recipe, "train"), read_split(recipe, "test")
    log(f"{len(train)} training images, {len(test)} test images, on {device}")
    stage = pixel_stage(recipe, drawing(train.images), to_float(test.images[:HELD_OUT]), device)

    def export() -> None:
        export_pixel(recipe.exported, stage.average, stage.scheduler)

    write_curve(recipe.out, stage.name, run_stage(stage, recipe.limits, recipe.out, on_save=export))
    export()
    log(f"exported to {recipe.exported}")
    return recipe.exported


def pixel_stage(
    recipe: PixelRecipe,
    draw: Callable[[int, torch.Generator], torch.Tensor],
    held_out: torch.Tensor,
    device: torch.device,
) -> UNetStage:
    """The one stage of the recipe; images span 2, the peak of its PSNR."""
    scheduler = build_scheduler(clip=True)
    return UNetStage(recipe.unet, scheduler, draw, held_out, 2.0, recipe.seed, recipe.bf16, device)


def export_pixel(folder: Path, unet: UNet2DModel, scheduler: DDPMScheduler) -> None:
    """Write network and scheduler in the layout of `DDPMPipeline`."""
    with replacing(folder) as fresh:
        DDPMPipeline(unet=halved(unet), scheduler=scheduler).save_pretrained(fresh, safe_serialization=True)
