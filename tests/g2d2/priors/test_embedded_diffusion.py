"""The packaged pixel and latent diffusion priors: small, loadable by stock classes, and as good as their cards say."""

import io
import json

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from PIL import Image
from safetensors import safe_open

from g2d2.priors import load_prior
from g2d2.priors.catalog import CATALOG, EMBEDDED, packaged_folder
from g2d2.priors.locating import locate_prior
from g2d2.training.gaussian.denoising import denoise_at, mean_decibels, noisy_at

WEIGHTS = "diffusion_pytorch_model.safetensors"
LIMIT = 12_000_000


def held_out(count):
    """Some of the held-out photographs, of all classes, in [-1, 1]."""
    pictures = pq.read_table(EMBEDDED / "cifar10-heldout.parquet")["image"].to_pylist()
    pixels = [np.asarray(Image.open(io.BytesIO(data))) for data in pictures[:: len(pictures) // count][:count]]
    return torch.from_numpy(np.stack(pixels)).permute(0, 3, 1, 2) / 127.5 - 1


@pytest.fixture
def folder(request):
    return packaged_folder(CATALOG[request.param])


@pytest.mark.parametrize("folder", ["cifar10-pixel", "cifar10-latent"], indirect=True)
def test_it_is_small_and_says_what_it_is(folder):
    assert sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) < LIMIT
    with safe_open(folder / "unet" / WEIGHTS, "pt") as weights:
        assert {weights.get_tensor(name).dtype for name in weights.keys()} == {torch.float16}  # noqa: SIM118
    card = (folder / "README.md").read_text()
    record = json.loads((folder / "training.json").read_text())
    assert f"{record['held_out']['parameters']['unet']:,} parameters" in card
    assert "/" not in str(record["settings"])  # no path of the machine that trained it


@pytest.mark.parametrize("folder", ["cifar10-pixel"], indirect=True)
def test_the_stock_pipeline_generates_and_the_prior_denoises_as_its_card_says(folder):
    from diffusers import DDPMPipeline  # after g2d2, whose import makes torchvision importable

    pipeline = DDPMPipeline.from_pretrained(folder)
    pipeline.set_progress_bar_config(disable=True)
    drawn = pipeline(2, generator=torch.Generator().manual_seed(0), num_inference_steps=10, output_type="np").images
    assert drawn.shape == (2, 32, 32, 3)
    assert drawn.std() > 0.05
    truth = held_out(16)
    told = json.loads((folder / "training.json").read_text())["held_out"]["denoising_psnr"]
    for sigma in (0.2, 0.8):
        estimates = denoise_at(pipeline.unet, pipeline.scheduler, truth, sigma).clamp(-1, 1)
        gained = mean_decibels(estimates, truth, 2.0) - mean_decibels(noisy_at(truth, sigma).clamp(-1, 1), truth, 2.0)
        expected = told[f"{sigma}"]["prior"] - told[f"{sigma}"]["noisy"]
        assert gained == pytest.approx(expected, abs=1.5)  # other images than the card's


@pytest.mark.parametrize("folder", ["cifar10-latent"], indirect=True)
def test_the_latent_prior_has_the_tokeniser_of_the_discrete_one(folder):
    from diffusers import UNet2DModel, VQModel

    ours, theirs = (VQModel.from_pretrained(path, subfolder="vqvae") for path in (folder, CATALOG["cifar10"].folder))
    for (name, mine), other in zip(ours.state_dict().items(), theirs.state_dict().values(), strict=True):
        assert torch.equal(mine, other), name
    assert UNet2DModel.from_pretrained(folder, subfolder="unet").config.in_channels == 16
    told = json.loads((folder / "training.json").read_text())["held_out"]["denoising"]
    assert all(level["prior_snr"] > level["normal_snr"] for level in told.values())


@pytest.mark.parametrize("folder", ["cifar10-pixel", "cifar10-latent"], indirect=True)
def test_it_loads_by_name_with_the_shape_that_the_catalog_says(folder):
    known = CATALOG[folder.name]
    assert locate_prior(known.name).folder == folder
    prior = load_prior(known.name)
    assert tuple(prior.x_shape) == (3, 32, 32)
    if known.latents is not None:
        side, channels = known.latents
        assert tuple(prior.z_shape) == (channels, side, side)
