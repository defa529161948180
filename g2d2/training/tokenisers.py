"""The tokeniser that another recipe trained: taken over as it is, and run once over the training images."""

import os
from collections.abc import Callable
from pathlib import Path

import torch
from diffusers import VQModel
from safetensors.torch import load_file, save_file
from torch import Tensor

from g2d2.priors.vq_diffusion.components import load_component
from g2d2.training.data import Split, to_float


def take_tokeniser(folder: Path, **changes: object) -> VQModel:
    """The frozen `VQModel` of a prior, with other configuration values where given, float32 on the CPU."""
    given = load_component(folder, "vqvae")
    shape = {name: value for name, value in given.config.items() if not name.startswith("_")}  # not where it lay
    vqvae: VQModel = VQModel.from_config(shape | changes)
    vqvae.load_state_dict(given.state_dict())
    return vqvae.eval().requires_grad_(False)


@torch.no_grad()
def encode_latents(vqvae: VQModel, images: Tensor, batch: int = 64) -> Tensor:
    """Latents before quantisation of byte images, unscaled, (N, 3, 32, 32) -> (N, C, h, w) float32 on the CPU."""
    side = images.shape[-1] >> (len(vqvae.config.block_out_channels) - 1)
    # One tensor made beforehand: small results kept between large temporaries pin the allocator's heap.
    latents = torch.empty((len(images), vqvae.config.vq_embed_dim, side, side))
    for start in range(0, len(images), batch):
        rows = slice(start, start + batch)
        latents[rows] = vqvae.encode(to_float(images[rows].to(vqvae.device))).latents.cpu()
    return latents


def encoded_once(path: Path, train: Split, encode: Callable[[Tensor], Tensor]) -> Tensor:
    """What `encode` makes of all training images and of their mirror images, (2, N, ...), kept in a file."""
    if not path.exists():
        encoded = torch.stack([encode(images) for images in (train.images, train.images.flip(3))])
        partial = path.with_suffix(".partial")
        save_file({path.stem: encoded}, partial)
        os.replace(partial, path)
    return load_file(path)[path.stem]
