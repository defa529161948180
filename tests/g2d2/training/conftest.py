"""A tiny data folder in the layout of the npm package, and recipes that train in seconds."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import g2d2  # noqa: F401
from g2d2.training.gaussian.latent_recipe import LatentRecipe
from g2d2.training.gaussian.pixel_recipe import PixelRecipe
from g2d2.training.gaussian.unet_settings import UNetSettings
from g2d2.training.masked_image.masked_settings import MaskedRecipe, RangeSettings, UViTSettings
from g2d2.training.settings import Recipe, StageLimits
from g2d2.training.vq_diffusion.vq_recipe import TransformerSettings, VQDiffusionRecipe, VQVAESettings
from g2d2.training.vq_diffusion.vq_training import train_vq_diffusion

BRIEF = StageLimits(minutes=60, steps=4, report_every=2)


@pytest.fixture(scope="session")
def data_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cifar")
    draw = np.random.default_rng(0)
    for name in (*(f"data_batch_{n}.png" for n in range(1, 6)), "test_batch.png"):
        Image.fromarray(draw.integers(0, 256, (20, 1024, 3), dtype=np.uint8)).save(folder / name)
    (folder / "train_lables.json").write_text(json.dumps([n % 10 for n in range(100)]))
    (folder / "test_lables.json").write_text(json.dumps([n % 10 for n in range(20)]))
    return folder


@pytest.fixture(scope="session")
def tiny_recipe(data_folder: Path) -> Callable[[Path], VQDiffusionRecipe]:
    """Recipes that differ in their output folder alone."""
    return lambda out: VQDiffusionRecipe(
        out=out,
        data=data_folder,
        device="cpu",
        vqvae=VQVAESettings(channels=(4, 8, 8), groups=2, codes=8, code_dim=4, batch=8, unquantised=0.3),
        transformer=TransformerSettings(layers=1, heads=2, head_dim=8, timesteps=6, text_width=16, batch=4),
        vqvae_limits=BRIEF,
        transformer_limits=BRIEF,
    )


@pytest.fixture(scope="session")
def tiny_prior(tiny_recipe: Callable[[Path], VQDiffusionRecipe], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a tiny VQ-Diffusion prior, whose tokeniser other families take over."""
    return train_vq_diffusion(tiny_recipe(tmp_path_factory.mktemp("tiny")))


@pytest.fixture(scope="session")
def tiny_recipes(
    data_folder: Path, tiny_prior: Path, tiny_recipe: Callable[[Path], VQDiffusionRecipe]
) -> dict[str, Callable[[Path], Recipe]]:
    """For each family, recipes that differ in their output folder alone."""
    unet = UNetSettings(channels=(4, 8), attention_levels=1, head_dim=4, groups=2, batch=4)
    uvit = UViTSettings(layers=1, heads=2, head_dim=8, batch=4)
    run = {"data": data_folder, "device": "cpu"}
    return {
        "vq_diffusion": tiny_recipe,
        "pixel_diffusion": lambda out: PixelRecipe(out=out, **run, unet=unet, limits=BRIEF),
        "latent_diffusion": lambda out: LatentRecipe(out=out, **run, tokeniser=tiny_prior, unet=unet, limits=BRIEF),
        "masked_image": lambda out: MaskedRecipe(
            out=out,
            **run,
            tokeniser=tiny_prior,
            unit_range=RangeSettings(batch=4),
            range_limits=BRIEF,
            uvit=uvit,
            limits=BRIEF,
        ),
    }
