"""`report_pixel`: the pixel prior's estimates at each noise level, beside denoisers without a network."""

from collections.abc import Callable
from typing import Any

import torch
from diffusers import DDPMPipeline
from torch import Tensor

from g2d2.training.data import balanced, to_float
from g2d2.training.figures import Panel, rows_apart, save_curves, save_sheet
from g2d2.training.folders import size_megabytes
from g2d2.training.gaussian.classical import classical_denoisers
from g2d2.training.gaussian.denoising import SIGMAS, denoise_at, mean_decibels, noisy_at
from g2d2.training.gaussian.gaussian_cards import pixel_card
from g2d2.training.gaussian.pixel_recipe import PixelRecipe
from g2d2.training.gaussian.unet_stage import curve_lines
from g2d2.training.image_scores import Distance
from g2d2.training.reporting import count_parameters, write_report
from g2d2.training.run import read_curve, read_split, take_device

SAMPLING_STEPS = 250
"""Steps of the sample sheet, of the schedule's 1000."""


def report_pixel(
    recipe: PixelRecipe,
    lpips: Distance | None = None,
    images: int = 512,
    compared: int = 24,
    sampling_steps: int = SAMPLING_STEPS,
    log: Callable[[str], None] = print,
) -> dict[str, Any]:
    """Measure `out`/export on held-out images; write numbers, card, curves and sheets, and return the numbers.

    Denoisers without a network are slow and get the first `compared` images. LPIPS is not used: the tables are of PSNR.
    """
    pipeline = load_ddpm(recipe, take_device(recipe))
    truth = to_float(balanced(read_split(recipe, "test"), images).images).to(pipeline.device)
    curve = read_curve(recipe.out, "unet")
    numbers = {
        "images": len(truth),
        "parameters": count_parameters(pipeline.components),
        "denoising_psnr": {f"{sigma}": _prior_and_noise(pipeline, truth, sigma) for sigma in SIGMAS},
        "compared_images": min(compared, len(truth)),
        "compared_psnr": compare_denoisers(pipeline, truth[:compared]),
        "megabytes": size_megabytes(recipe.exported),
    }
    card = pixel_card(recipe, numbers, curve, pipeline.scheduler.config.prediction_type)
    write_report(recipe, numbers, {"unet": curve}, card, log)
    save_curves([Panel("Prior", "PSNR [dB]", curve, curve_lines())], recipe.out / "curves.png")
    save_sheet(denoised_rows(pipeline, truth[:10]) / 2 + 0.5, 10, recipe.out / "denoised.png")
    drawn = pipeline(
        40, generator=torch.Generator().manual_seed(recipe.seed), num_inference_steps=sampling_steps, output_type="np"
    )
    save_sheet(torch.from_numpy(drawn.images).permute(0, 3, 1, 2), 10, recipe.out / "samples.png")
    return numbers


def load_ddpm(recipe: PixelRecipe, device: torch.device) -> DDPMPipeline:
    """The stock pipeline from the exported folder."""
    pipeline = DDPMPipeline.from_pretrained(recipe.exported)
    pipeline.set_progress_bar_config(disable=True)
    return pipeline.to(device)


def compare_denoisers(pipeline: DDPMPipeline, truth: Tensor) -> dict[str, dict[str, float]]:
    """PSNR by noise level of the prior and of each denoiser that is installed, on the same noise."""
    table: dict[str, dict[str, float]] = {}
    for sigma in SIGMAS:
        scores = _prior_and_noise(pipeline, truth, sigma)
        for name, denoise in classical_denoisers().items():
            estimates = denoise(noisy_at(truth, sigma), truth, sigma).clamp(-1, 1)
            scores[name] = mean_decibels(estimates, truth.cpu(), 2.0)
        table[f"{sigma}"] = scores
    return table


def denoised_rows(pipeline: DDPMPipeline, truth: Tensor) -> Tensor:
    """Truths, and for three noise levels the noisy images above their estimates."""
    parts = [truth]
    for sigma in (0.2, 0.6, 1.0):
        parts += [noisy_at(truth, sigma), denoise_at(pipeline.unet, pipeline.scheduler, truth, sigma)]
    return rows_apart(parts, len(truth))


def _prior_and_noise(pipeline: DDPMPipeline, truth: Tensor, sigma: float) -> dict[str, float]:
    estimates = denoise_at(pipeline.unet, pipeline.scheduler, truth, sigma).clamp(-1, 1)
    return {
        "noisy": mean_decibels(noisy_at(truth, sigma).clamp(-1, 1), truth, 2.0),
        "prior": mean_decibels(estimates, truth, 2.0),
    }
