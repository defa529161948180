"""A tokeniser of pixels in [-1, 1] as one of pixels in [0, 1], which is what aMUSEd's pipelines feed and expect.

The decoder's last layer takes the change of range exactly. The encoder's first layer does so but for its border: zero
padding means grey in one range and black in the other. So the encoder learns to give the latents it gave before.
"""

from typing import Any

import torch
from diffusers import VQModel
from torch import Tensor
from torch.nn import functional as F

from g2d2.training.data import to_float
from g2d2.training.image_scores import psnr
from g2d2.training.loop import cosine_lr, step_generator
from g2d2.training.masked_image.masked_settings import RangeSettings
from g2d2.training.run import Draw
from g2d2.training.vq_diffusion.codebook import nearest


@torch.no_grad()
def fold_unit_range(vqvae: VQModel) -> None:
    """Change, in place, the first and last convolution from pixels in [-1, 1] to pixels in [0, 1]."""
    first, last = vqvae.encoder.conv_in, vqvae.decoder.conv_out
    first.bias -= first.weight.sum((1, 2, 3))
    first.weight *= 2
    last.weight /= 2
    last.bias /= 2
    last.bias += 0.5


@torch.no_grad()
def encode_unit_tokens(vqvae: VQModel, images: Tensor, batch: int = 64) -> Tensor:
    """Token ids of byte images by a tokeniser of pixels in [0, 1], (N, 3, H, W) -> (N, D) int64 on the CPU."""
    side = images.shape[-1] >> (len(vqvae.config.block_out_channels) - 1)
    tokens = torch.empty((len(images), side * side), dtype=torch.int64)
    for start in range(0, len(images), batch):
        rows = slice(start, start + batch)
        latents = vqvae.encode(images[rows].to(vqvae.device).float() / 255).latents  # (B, C, h, w)
        flat = latents.permute(0, 2, 3, 1).flatten(0, 2)
        tokens[rows] = nearest(flat, vqvae.quantize.embedding.weight).view(len(latents), -1).cpu()
    return tokens


@torch.no_grad()
def decode_unit_tokens(vqvae: VQModel, tokens: Tensor) -> Tensor:
    """Images in [-1, 1] of token ids by a tokeniser of pixels in [0, 1], (B, D) -> (B, 3, H, W)."""
    side = round(tokens.shape[1] ** 0.5)
    shape = (len(tokens), side, side, vqvae.config.vq_embed_dim)
    codes = vqvae.quantize.get_codebook_entry(tokens.to(vqvae.device), shape=shape)
    images: Tensor = vqvae.decoder(vqvae.post_quant_conv(codes))
    return images.clamp(0, 1) * 2 - 1


class RangeStage:
    """Squared error between latents of the moved encoder and of the one it came from; nothing else is trained."""

    name = "range"

    def __init__(
        self,
        settings: RangeSettings,
        before: VQModel,
        moved: VQModel,
        draw: Draw,
        held_out: Tensor,  # (N, 3, H, W) uint8
        seed: int,
        device: torch.device,
    ) -> None:
        self.settings, self.before, self.moved, self.draw = settings, before, moved, draw
        self.held_out, self.seed, self.device = held_out, seed, device
        self.trained = [*moved.encoder.parameters(), *moved.quant_conv.parameters()]
        for weight in self.trained:
            weight.requires_grad_(True)
        self.optimizer = torch.optim.AdamW(self.trained, lr=settings.lr, betas=(0.9, 0.95), weight_decay=0)

    def step(self, index: int, fraction: float) -> dict[str, float]:
        images = self.draw(self.settings.batch, step_generator(self.seed, self.name, index)).to(self.device)
        with torch.no_grad():
            goal = self.before.encode(images).latents
        loss = F.mse_loss(self.moved.encode(images / 2 + 0.5).latents, goal)
        self.optimizer.param_groups[0]["lr"] = self.settings.lr * cosine_lr(fraction)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        return {"loss": loss.item()}

    def report(self) -> dict[str, float]:
        """PSNR of held-out reconstructions through the moved tokeniser."""
        images = decode_unit_tokens(self.moved, encode_unit_tokens(self.moved, self.held_out))
        return {"held_out_psnr": psnr(images, to_float(self.held_out).to(self.device)).mean().item()}

    def state(self) -> dict[str, Any]:
        return {"moved": self.moved.state_dict(), "optimizer": self.optimizer.state_dict()}

    def load(self, state: dict[str, Any]) -> None:
        self.moved.load_state_dict(state["moved"])
        self.optimizer.load_state_dict(state["optimizer"])
