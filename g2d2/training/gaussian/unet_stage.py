"""The training stage of a continuous prior: v prediction of a `UNet2DModel`, with averaged weights for export."""

import torch
from diffusers import DDPMScheduler, UNet2DModel
from torch import Tensor, nn

from g2d2.training.attention import plain_attention
from g2d2.training.average import AveragedStage, averaged_copy, follow
from g2d2.training.descent import Descent
from g2d2.training.gaussian.denoising import denoise_at, mean_decibels
from g2d2.training.gaussian.unet_settings import UNetSettings
from g2d2.training.gaussian.vp_noise import skewed_timesteps
from g2d2.training.loop import step_generator
from g2d2.training.run import Draw

LEVELS = (0.1, 0.2, 0.4, 0.8)
"""Noise levels of the reports during training."""


def curve_lines() -> dict[str, tuple[str, str]]:
    """Label and colour of each number that the stage reports, for a panel of curves."""
    colours = ("#1f5fa8", "#2f7d5b", "#b5462f", "#7a5aa6")
    return {f"held_out_{s}": (f"sigma {s}", colour) for s, colour in zip(LEVELS, colours, strict=True)}


def build_unet(settings: UNetSettings, side: int, channels: int) -> UNet2DModel:
    """A `UNet2DModel` with attention at the lowest resolutions alone."""
    levels = len(settings.channels)
    plain = levels - settings.attention_levels
    unet = UNet2DModel(
        sample_size=side,
        in_channels=channels,
        out_channels=channels,
        layers_per_block=settings.layers_per_block,
        block_out_channels=settings.channels,
        down_block_types=("DownBlock2D",) * plain + ("AttnDownBlock2D",) * settings.attention_levels,
        up_block_types=("AttnUpBlock2D",) * settings.attention_levels + ("UpBlock2D",) * plain,
        norm_num_groups=settings.groups,
        attention_head_dim=settings.head_dim,
    )
    # The first estimate is then v = 0, and not noise that has to be unlearnt.
    nn.init.zeros_(unet.conv_out.weight)
    nn.init.zeros_(unet.conv_out.bias)
    return unet


class UNetStage(AveragedStage[UNet2DModel]):
    """Squared error of v over all noise levels."""

    name = "unet"

    def __init__(
        self,
        settings: UNetSettings,
        scheduler: DDPMScheduler,
        draw: Draw,
        held_out: Tensor,  # (N, C, H, W)
        peak: float,
        seed: int,
        bf16: bool,
        device: torch.device,
    ) -> None:
        self.settings, self.scheduler, self.draw, self.held_out = settings, scheduler, draw, held_out
        self.peak, self.seed, self.bf16, self.device = peak, seed, bf16, device
        torch.manual_seed(seed)
        self.prior = build_unet(settings, held_out.shape[-1], held_out.shape[1]).to(device)
        plain_attention(self.prior, device)
        self.average = averaged_copy(self.prior)
        self.descent = Descent(
            self.prior, _is_matrix, settings.lr_matrices, settings.lr_rest, weight_decay=settings.weight_decay
        )

    def step(self, index: int, fraction: float) -> dict[str, float]:
        generator = step_generator(self.seed, self.name, index)
        x_0 = self.draw(self.settings.batch, generator)
        noise = torch.randn(x_0.shape, generator=generator)
        t = skewed_timesteps(len(x_0), self.settings.timestep_skew, generator)
        x_0, noise, t = (part.to(self.device) for part in (x_0, noise, t))
        x_t, v = self.scheduler.add_noise(x_0, noise, t), self.scheduler.get_velocity(x_0, noise, t)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.bf16):
            output = self.prior(x_t, t).sample
        loss = (output.float() - v).square().mean()
        self.descent.step(loss, fraction)
        follow(self.average, self.prior, self.settings.ema_decay, index)
        return {"loss": loss.item()}

    def report(self) -> dict[str, float]:
        """Held-out decibels of the averaged weights' estimate of x_0 at a few noise levels."""
        truth = self.held_out.to(self.device)
        numbers = {}
        for sigma in LEVELS:
            with torch.autocast(self.device.type, torch.bfloat16, enabled=self.bf16):
                images = denoise_at(self.average, self.scheduler, truth, sigma)
            numbers[f"held_out_{sigma}"] = mean_decibels(images, truth, self.peak)
        return numbers


def _is_matrix(name: str, weight: nn.Parameter) -> bool:
    """Inner matrices and kernels; first and last layers and the time embedding are left to AdamW, as is usual."""
    return weight.ndim > 1 and not name.startswith(("conv_in.", "conv_out.", "time_embedding."))
