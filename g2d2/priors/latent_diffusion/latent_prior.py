"""Latent diffusion: a UNet over the latents of an autoencoder that is differentiable both ways."""

from collections.abc import Callable
from typing import Any

import torch
from diffusers import VQModel
from torch import Tensor, nn

from g2d2.priors.base import Latent
from g2d2.priors.compiling import Compiled
from g2d2.priors.latent_diffusion.latent_components import LatentParts
from g2d2.priors.unet_prior import UNetPrior


class LatentDiffusionPrior(UNetPrior, Latent):
    """A frozen latent diffusion model.

    Latents of a VQ autoencoder are those before quantisation, which `decode` makes up for as LDM does: the nearest
    codes are decoded, and the gradient passes as if there had been no choice. `quantize=False` decodes latents as they
    are. A KL autoencoder encodes to the mean.
    """

    _decoder: Callable[[Tensor], Tensor]
    _encoder: Callable[[Tensor], Tensor]

    def __init__(self, parts: LatentParts, *, quantize: bool = True, **options: Any):
        self.autoencoder, self.scaling, self.shift = parts.autoencoder, parts.scaling, parts.shift
        self.codebook: Tensor | None = None
        if quantize and isinstance(self.autoencoder, VQModel):
            self.codebook = self.autoencoder.quantize.embedding.weight.detach().clone()
        super().__init__(parts.unet, parts.noise, parts.conditions, **options)

    @property
    def networks(self) -> tuple[nn.Module, ...]:
        return (self.unet, self.autoencoder, *self.conditions.networks)

    def _set_shape(self) -> None:
        config, factor = self.autoencoder.config, 2 ** (len(self.autoencoder.config.block_out_channels) - 1)
        self.x_shape = (config.out_channels, *(side * factor for side in self.z_shape[1:]))

    def _set_up(self, dtype: torch.dtype, memory_format: torch.memory_format) -> None:
        super()._set_up(dtype, memory_format)
        if self.codebook is not None:  # in full precision: another rounding would choose other codes
            self.codebook = self.codebook.to(self.device, self.dtype)
        self._decoder, self._encoder = self._run_decoder, self._run_encoder

    def _compile(self, dtype: torch.dtype, graphs: bool) -> None:
        super()._compile(dtype, graphs)
        self._decoder = Compiled("the decoder", self._run_decoder, dtype, graphs)
        self._encoder = Compiled("the encoder", self._run_encoder, dtype, graphs)

    def encode(self, x: Tensor) -> Tensor:
        return (self._by_rows(self._encoder, x) - self.shift) * self.scaling

    def decode(self, z: Tensor) -> Tensor:
        return self._by_rows(self._decoder, self._quantized(z / self.scaling + self.shift))

    def _by_rows(self, network: Callable[[Tensor], Tensor], images: Tensor) -> Tensor:
        images = images.to(self.network_dtype)
        parts = images.split(self.decode_rows or len(images))
        return torch.cat([network(some.contiguous(memory_format=self._memory_format)) for some in parts]).to(self.dtype)

    def _quantized(self, latents: Tensor) -> Tensor:
        """The nearest codes, with the gradient of the latents."""
        if self.codebook is None:
            return latents
        with torch.no_grad():
            points = latents.permute(0, 2, 3, 1).flatten(0, 2)  # (B * h * w, C)
            # products of matrices would round by how many rows there are
            nearest = torch.cdist(points, self.codebook, compute_mode="donot_use_mm_for_euclid_dist").argmin(dim=1)
            codes = self.codebook[nearest].view(*latents.permute(0, 2, 3, 1).shape).permute(0, 3, 1, 2)
        return codes + (latents - latents.detach())

    def _run_decoder(self, latents: Tensor) -> Tensor:
        autoencoder = self.autoencoder
        if not isinstance(autoencoder, VQModel):
            return autoencoder.decode(latents, return_dict=False)[0]  # type: ignore[no-any-return]
        spatial = latents if autoencoder.config.norm_type == "spatial" else None
        return autoencoder.decoder(autoencoder.post_quant_conv(latents), spatial)  # type: ignore[no-any-return]

    def _run_encoder(self, images: Tensor) -> Tensor:
        if isinstance(self.autoencoder, VQModel):
            return self.autoencoder.encode(images, return_dict=False)[0]  # type: ignore[no-any-return]
        return self.autoencoder.encode(images, return_dict=False)[0].mode()  # type: ignore[no-any-return]
