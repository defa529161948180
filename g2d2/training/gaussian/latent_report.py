"""`report_latent`: what the latent prior's estimates are worth at each noise level, in latents and decoded."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from diffusers import DDIMScheduler, UNet2DModel, VQModel
from diffusers.pipelines.deprecated.latent_diffusion_uncond.pipeline_latent_diffusion_uncond import LDMPipeline
from safetensors.torch import load_file
from torch import Tensor

from g2d2.training.data import balanced, to_float
from g2d2.training.figures import Panel, rows_apart, save_curves, save_sheet
from g2d2.training.folders import size_megabytes
from g2d2.training.gaussian.denoising import SIGMAS, denoise_at, mean_decibels, noisy_at
from g2d2.training.gaussian.gaussian_cards import latent_card
from g2d2.training.gaussian.latent_recipe import LatentRecipe
from g2d2.training.gaussian.normal_model import NormalModel
from g2d2.training.gaussian.unet_stage import curve_lines
from g2d2.training.image_scores import Distance, reconstruction_scores
from g2d2.training.reporting import count_parameters, write_report
from g2d2.training.run import read_curve, read_split, take_device
from g2d2.training.tokenisers import encode_latents

SAMPLING_STEPS = 100
"""DDIM steps of the sample sheet, of the schedule's 1000."""


def report_latent(
    recipe: LatentRecipe,
    lpips: Distance | None = None,
    images: int = 512,
    sampling_steps: int = SAMPLING_STEPS,
    log: Callable[[str], None] = print,
) -> dict[str, Any]:
    """Measure `out`/export on held-out images; write numbers, card, curves and sheets, and return the numbers."""
    pipeline = load_ldm(recipe, take_device(recipe))
    vqvae, scale = pipeline.vqvae, pipeline.vqvae.config.scaling_factor
    held_out = balanced(read_split(recipe, "test"), images)
    truth = to_float(held_out.images).to(pipeline.device)
    latents = (encode_latents(vqvae, held_out.images) * scale).to(pipeline.device)
    normal = NormalModel(load_file(recipe.out / "latents.safetensors")["latents"].flatten(0, 1).float() * scale)
    curve = read_curve(recipe.out, "unet")
    numbers = {
        "images": len(truth),
        "scaling_factor": scale,
        "latent_shape": list(latents.shape[1:]),
        "parameters": count_parameters(pipeline.components),
        "reconstruction": {
            name: reconstruction_scores(partial(_decoded_rows, vqvae, latents, quantise), truth, lpips)
            for name, quantise in (("latents", False), ("quantised", True))
        },
        "denoising": {f"{sigma}": _level(pipeline, normal, latents, truth, sigma) for sigma in SIGMAS},
        "megabytes": size_megabytes(recipe.exported),
    }
    write_report(recipe, numbers, {"unet": curve}, latent_card(recipe, numbers, curve), log)
    save_curves([Panel("Prior", "SNR of latents [dB]", curve, curve_lines())], recipe.out / "curves.png")
    save_sheet(denoised_rows(pipeline, latents[:10], truth[:10]) / 2 + 0.5, 10, recipe.out / "denoised.png")
    generator = torch.Generator().manual_seed(recipe.seed)
    drawn = pipeline(40, generator=generator, num_inference_steps=sampling_steps, output_type="np")
    save_sheet(torch.from_numpy(drawn.images).permute(0, 3, 1, 2), 10, recipe.out / "samples.png")
    return numbers


def load_ldm(recipe: LatentRecipe, device: torch.device) -> LDMPipeline:
    """The stock pipeline from the exported folder, component by component: the pipeline's class is a deprecated one."""
    kinds = {"vqvae": VQModel, "unet": UNet2DModel, "scheduler": DDIMScheduler}
    pipeline = LDMPipeline(
        **{name: kind.from_pretrained(recipe.exported, subfolder=name) for name, kind in kinds.items()}
    )
    pipeline.set_progress_bar_config(disable=True)
    return pipeline.to(device)


@torch.no_grad()
def decode_latents(vqvae: VQModel, latents: Tensor, quantise: bool) -> Tensor:
    """Images in [-1, 1] of scaled latents, through the nearest codes if asked for."""
    images: Tensor = vqvae.decode(latents / vqvae.config.scaling_factor, force_not_quantize=not quantise).sample
    return images.clamp(-1, 1)


def _decoded_rows(vqvae: VQModel, latents: Tensor, quantise: bool, rows: Tensor) -> Tensor:
    return decode_latents(vqvae, latents[rows], quantise)


def denoised_rows(pipeline: LDMPipeline, latents: Tensor, truth: Tensor) -> Tensor:
    """Truths, and for three noise levels the decoded noisy latents above the decoded estimates."""
    parts = [truth]
    for sigma in (0.2, 0.6, 1.0):
        estimates = denoise_at(pipeline.unet, pipeline.scheduler, latents, sigma)
        parts += [decode_latents(pipeline.vqvae, rows, False) for rows in (noisy_at(latents, sigma), estimates)]
    return rows_apart(parts, len(truth))


def _level(
    pipeline: LDMPipeline, normal: NormalModel, latents: Tensor, truth: Tensor, sigma: float
) -> dict[str, float]:
    """Decibels of latents (signal over error) and of decoded images (PSNR): noisy, by a normal model, by the prior."""
    noisy = noisy_at(latents, sigma)
    estimates = {
        "noisy": noisy,
        "normal": normal.denoise(noisy, sigma),
        "prior": denoise_at(pipeline.unet, pipeline.scheduler, latents, sigma),
    }
    numbers = {f"{name}_snr": mean_decibels(part, latents, 1.0) for name, part in estimates.items()}
    for name, part in estimates.items():
        rows = (decode_latents(pipeline.vqvae, rows, False) for rows in torch.split(part, 256))
        numbers[f"{name}_psnr"] = mean_decibels(torch.cat(list(rows)), truth, 2.0)
    return numbers
