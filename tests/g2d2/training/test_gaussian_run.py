"""Pixel and latent priors on tiny settings: stock diffusers classes load and generate what is exported."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from diffusers import DDIMScheduler, DDPMPipeline, UNet2DModel, VQModel
from diffusers.pipelines.deprecated.latent_diffusion_uncond.pipeline_latent_diffusion_uncond import LDMPipeline
from safetensors.torch import load_file

from g2d2.training.recipes import FAMILIES
from g2d2.training.settings import Recipe, StageLimits

Recipes = dict[str, Callable[[Path], Recipe]]


@pytest.fixture(scope="module")
def pixel(tiny_recipes: Recipes, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return FAMILIES["pixel_diffusion"].train(tiny_recipes["pixel_diffusion"](tmp_path_factory.mktemp("pixel")))


@pytest.fixture(scope="module")
def latent(tiny_recipes: Recipes, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return FAMILIES["latent_diffusion"].train(tiny_recipes["latent_diffusion"](tmp_path_factory.mktemp("latent")))


def test_ddpm_pipeline_loads_and_generates(pixel: Path) -> None:
    pipeline = DDPMPipeline.from_pretrained(pixel)
    assert pipeline.unet.dtype == torch.float32
    assert {value.dtype for value in load_file(pixel / "unet" / "diffusion_pytorch_model.safetensors").values()} == {
        torch.float16
    }
    generator = torch.Generator().manual_seed(0)
    images = pipeline(2, generator=generator, num_inference_steps=3, output_type="np").images
    assert images.shape == (2, 32, 32, 3)
    assert np.isfinite(images).all()


def test_ldm_pipeline_is_built_from_the_parts_and_generates(latent: Path) -> None:
    kinds = {"vqvae": VQModel, "unet": UNet2DModel, "scheduler": DDIMScheduler}
    pipeline = LDMPipeline(**{name: kind.from_pretrained(latent, subfolder=name) for name, kind in kinds.items()})
    images = pipeline(2, generator=torch.Generator().manual_seed(0), num_inference_steps=3, output_type="np").images
    assert images.shape == (2, 32, 32, 3)


def test_the_tokeniser_is_taken_over_with_a_scale_of_its_own(latent: Path, tiny_prior: Path) -> None:
    mine, theirs = (
        load_file(folder / "vqvae" / "diffusion_pytorch_model.safetensors") for folder in (latent, tiny_prior)
    )
    assert all(torch.equal(mine[name], theirs[name]) for name in theirs)
    scale = VQModel.from_pretrained(latent, subfolder="vqvae").config.scaling_factor
    latents = load_file(latent.parent / "latents.safetensors")["latents"].float()
    assert latents.shape == (2, 100, 4, 8, 8)
    assert (latents * scale).std().item() == pytest.approx(1, abs=1e-3)


def test_training_lowers_the_error(tiny_recipes: Recipes, tmp_path: Path) -> None:
    recipe = tiny_recipes["pixel_diffusion"](tmp_path)
    limits = StageLimits(minutes=60, steps=40, report_every=20)
    FAMILIES["pixel_diffusion"].train(recipe.model_copy(update={"limits": limits}))
    saved = torch.load(tmp_path / "unet.ckpt", weights_only=True)
    first, last = saved["history"][0], saved["history"][-1]
    # On images of pure noise the best estimate is a shrunken one, better than what v = 0 gives.
    assert last["held_out_0.8"] >= first["held_out_0.8"]
    assert set(last) == {"step", "seconds", "loss", "held_out_0.1", "held_out_0.2", "held_out_0.4", "held_out_0.8"}
