"""The noise process of `VQDiffusionScheduler`, with one timestep per row."""

import torch
from diffusers import VQDiffusionScheduler
from diffusers.models.normalization import AdaLayerNorm
from torch import Tensor, nn


def corrupt(tokens: Tensor, t: Tensor, scheduler: VQDiffusionScheduler, generator: torch.Generator) -> Tensor:
    """Draw z_t from q(z_t | z_0), (B, D) and (B,) -> (B, D): keep, resample uniformly, or mask."""
    codes = scheduler.num_embed - 1
    keep = scheduler.log_cumprod_at[t].exp()[:, None]  # (B, 1)
    mask = scheduler.log_cumprod_ct[t].exp()[:, None]
    chance = torch.rand(tokens.shape, generator=generator)
    random = torch.randint(codes, tokens.shape, generator=generator)
    noisy = torch.where(chance < keep + mask, tokens, random)
    return torch.where(chance < mask, torch.full_like(tokens, scheduler.mask_class), noisy)


def spread_timesteps(count: int, timesteps: int, generator: torch.Generator) -> Tensor:
    """Uniform timesteps, one in each of `count` equal strata: every batch sees all noise levels."""
    places = (torch.arange(count) + torch.rand(count, generator=generator)) / count
    return (places * timesteps).long().clamp(max=timesteps - 1)


class RowwiseAdaLayerNorm(AdaLayerNorm):  # type: ignore[misc]
    """`AdaLayerNorm` that also takes one timestep per row; weights and scalar results are unchanged."""

    def forward(self, x: Tensor, timestep: Tensor | None = None, temb: Tensor | None = None) -> Tensor:
        if timestep is None or timestep.ndim == 0:
            result: Tensor = super().forward(x, timestep, temb)
            return result
        scale, shift = self.linear(self.silu(self.emb(timestep)))[:, None].chunk(2, dim=-1)  # (B, 1, W)
        modulated: Tensor = self.norm(x) * (1 + scale) + shift
        return modulated


def accept_row_timesteps(model: nn.Module) -> None:
    """Let a transformer be trained with one timestep per row, which diffusers supports for scalars alone."""
    for module in model.modules():
        if type(module) is AdaLayerNorm:
            module.__class__ = RowwiseAdaLayerNorm
