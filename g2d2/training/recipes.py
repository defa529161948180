"""The families that can be trained: a recipe, its training and its report under one name each."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from g2d2.training.gaussian.latent_recipe import LatentRecipe, train_latent
from g2d2.training.gaussian.latent_report import report_latent
from g2d2.training.gaussian.pixel_recipe import PixelRecipe, train_pixel
from g2d2.training.gaussian.pixel_report import report_pixel
from g2d2.training.masked_image.masked_report import report_masked
from g2d2.training.masked_image.masked_settings import MaskedRecipe
from g2d2.training.masked_image.masked_training import train_masked
from g2d2.training.masked_motion.motion_recipe import MotionRecipe
from g2d2.training.masked_motion.motion_report import report_motion
from g2d2.training.masked_motion.motion_training import train_motion
from g2d2.training.settings import Recipe
from g2d2.training.vq_diffusion.vq_recipe import VQDiffusionRecipe
from g2d2.training.vq_diffusion.vq_report import report_vq_diffusion
from g2d2.training.vq_diffusion.vq_training import train_vq_diffusion


@dataclass(frozen=True)
class Family:
    """How one kind of prior is trained."""

    recipe: type[Recipe]
    """Its settings."""
    train: Callable[..., Path]
    """Trains by a recipe, or goes on where an earlier run stopped; returns the exported folder."""
    report: Callable[..., dict[str, Any]]
    """Measures what a recipe exported, writes card, curves and sheets; returns the numbers."""
    images: bool = True
    """Whether it is one of images, whose report takes LPIPS."""


FAMILIES = {
    "vq_diffusion": Family(VQDiffusionRecipe, train_vq_diffusion, report_vq_diffusion),
    "pixel_diffusion": Family(PixelRecipe, train_pixel, report_pixel),
    "latent_diffusion": Family(LatentRecipe, train_latent, report_latent),
    "masked_image": Family(MaskedRecipe, train_masked, report_masked),
    "masked_motion": Family(MotionRecipe, train_motion, report_motion, images=False),
}
