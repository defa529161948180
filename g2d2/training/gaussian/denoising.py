"""What a continuous prior knows: the error of its estimate of x_0 at each noise level."""

import torch
from diffusers import DDPMScheduler, UNet2DModel
from torch import Tensor

from g2d2.training.gaussian.vp_noise import estimate, matching_timestep
from g2d2.training.loop import step_generator

SIGMAS = (0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
"""Noise levels of the reports, relative to the signal."""


def noisy_at(truth: Tensor, sigma: float) -> Tensor:
    """truth + sigma n with noise that depends on sigma and the shape alone, so that all methods get the same."""
    noise = torch.randn(truth.shape, generator=step_generator(0, f"noise {sigma}", 0))
    return truth + sigma * noise.to(truth.device)


@torch.no_grad()
def denoise_at(unet: UNet2DModel, scheduler: DDPMScheduler, truth: Tensor, sigma: float, batch: int = 64) -> Tensor:
    """Estimates of x_0 from truth + sigma n, in one call at the schedule's matching t. (N, C, H, W)"""
    t = matching_timestep(scheduler, sigma)
    # The schedule has no t of exactly this level; the noise is sigma's and the network is told the nearest.
    scale = scheduler.alphas_cumprod[t].sqrt().to(truth.device)
    x_t = noisy_at(truth, sigma) * scale
    estimates = torch.empty_like(truth)
    for start in range(0, len(truth), batch):
        rows = x_t[start : start + batch]
        steps = torch.full((len(rows),), t, device=truth.device)
        estimates[start : start + batch] = estimate(scheduler, unet(rows, steps).sample.float(), rows, steps)
    return estimates


def mean_decibels(estimates: Tensor, truth: Tensor, peak: float) -> float:
    """Mean over images of 10 log10(peak^2 / squared error): PSNR with the range as peak."""
    error = (estimates - truth).square().flatten(1).mean(1)
    return float((20 * torch.tensor(peak).log10() - 10 * error.log10()).mean())
