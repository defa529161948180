"""The variance-preserving noise process of `DDPMScheduler`: levels, corruption, targets and estimates of x_0."""

import torch
from diffusers import DDIMScheduler, DDPMScheduler
from torch import Tensor

TIMESTEPS = 1000


def build_scheduler(clip: bool) -> DDPMScheduler:
    """DDPM's linear betas with v prediction; `clip` where x_0 lies in [-1, 1]."""
    return DDPMScheduler(
        num_train_timesteps=TIMESTEPS,
        beta_start=1e-4,
        beta_end=0.02,
        beta_schedule="linear",
        prediction_type="v_prediction",
        variance_type="fixed_large",
        clip_sample=clip,
    )


def deterministic(scheduler: DDPMScheduler) -> DDIMScheduler:
    """The same noise process with DDIM's steps, as `LDMPipeline` has it."""
    shared = ("num_train_timesteps", "beta_start", "beta_end", "beta_schedule", "prediction_type", "clip_sample")
    return DDIMScheduler(**{name: scheduler.config[name] for name in shared}, set_alpha_to_one=False)


def skewed_timesteps(count: int, skew: float, generator: torch.Generator) -> Tensor:
    """Timesteps T u^skew with u spread evenly over (0, 1), (B,): above 1, low noise is seen more often."""
    places = (torch.arange(count) + torch.rand(count, generator=generator)) / count
    return (places**skew * TIMESTEPS).long().clamp(max=TIMESTEPS - 1)


def matching_timestep(scheduler: DDPMScheduler, sigma: float) -> int:
    """The t whose noise, relative to the signal, is closest to sigma: sqrt(1 - ab) / sqrt(ab)."""
    ab = scheduler.alphas_cumprod.double()
    return int(((1 - ab).sqrt() / ab.sqrt() - sigma).abs().argmin())


def estimate(scheduler: DDPMScheduler, output: Tensor, x_t: Tensor, t: Tensor) -> Tensor:
    """x_0 from the network's output, for any prediction type of the scheduler."""
    ab: Tensor = scheduler.alphas_cumprod.to(x_t.device)[t].view(-1, *[1] * (x_t.ndim - 1))
    match scheduler.config.prediction_type:
        case "epsilon":
            return (x_t - (1 - ab).sqrt() * output) / ab.sqrt()
        case "v_prediction":
            return ab.sqrt() * x_t - (1 - ab).sqrt() * output
        case _:
            return output
