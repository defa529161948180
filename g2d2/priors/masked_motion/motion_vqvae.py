"""The tokeniser of motion: a one-dimensional VQ-VAE over frames, in the shape that MMM publishes.

Rows of a batch may differ in length. A convolution pads its input with zeros, so zeros in every place beyond a row's
end, before every convolution, give the row what it would get alone: no length is read on the host.
"""

import torch
from diffusers.configuration_utils import ConfigMixin, register_to_config
from diffusers.models.modeling_utils import ModelMixin
from torch import Tensor, nn


class DilatedResidual(nn.Module):
    """ReLU, dilated convolution, ReLU, pointwise convolution, beside the identity."""

    def __init__(self, width: int, dilation: int) -> None:
        super().__init__()
        self.dilated = nn.Conv1d(width, width, 3, padding=dilation, dilation=dilation)
        self.pointwise = nn.Conv1d(width, width, 1)

    def forward(self, x: Tensor, here: Tensor | None) -> Tensor:
        hidden = self.dilated(_within(x.relu(), here))
        return x + self.pointwise(hidden.relu())  # type: ignore[no-any-return]


class Level(nn.Module):
    """Residual blocks at one rate of time, the widest dilation first, with the layer that changes the rate."""

    def __init__(self, width: int, depth: int, growth: int, change: nn.Conv1d) -> None:
        super().__init__()
        self.change = change
        self.blocks = nn.ModuleList(DilatedResidual(width, growth**power) for power in reversed(range(depth)))

    def forward(self, x: Tensor, here: Tensor | None) -> Tensor:
        """The residual blocks alone; `change` comes before them in the encoder, after them in the decoder."""
        for block in self.blocks:
            x = block(x, here)
        return x


class MotionVQVAE(ModelMixin, ConfigMixin):  # type: ignore[misc]
    """Normalised features (B, F, 263) to latents (B, C, D) with four frames each, and back."""

    codebook: Tensor

    @register_to_config  # type: ignore[untyped-decorator]
    def __init__(
        self,
        features: int = 263,
        width: int = 512,
        depth: int = 3,
        dilation_growth: int = 3,
        halvings: int = 2,
        codes: int = 8192,
        code_width: int = 32,
        longest: int = 196,
    ) -> None:
        super().__init__()

        def level(change: nn.Conv1d) -> Level:
            return Level(width, depth, dilation_growth, change)

        self.encoder_in = nn.Conv1d(features, width, 3, padding=1)
        self.encoder = nn.ModuleList(level(nn.Conv1d(width, width, 4, stride=2, padding=1)) for _ in range(halvings))
        self.encoder_out = nn.Conv1d(width, code_width, 3, padding=1)
        self.decoder_in = nn.Conv1d(code_width, width, 3, padding=1)
        self.decoder = nn.ModuleList(level(nn.Conv1d(width, width, 3, padding=1)) for _ in range(halvings))
        self.decoder_middle = nn.Conv1d(width, width, 3, padding=1)
        self.decoder_out = nn.Conv1d(width, features, 3, padding=1)
        self.register_buffer("codebook", torch.zeros(codes, code_width))
        self.frames_per_token = 2**halvings
        self.num_tokens = longest // self.frames_per_token

    def encode(self, x: Tensor) -> Tensor:
        """Latents before quantisation of rows of one length, a multiple of the frames of a token. (B, C, D)"""
        hidden = self.encoder_in(x.mT).relu()  # (B, W, F)
        for level in self.encoder:
            hidden = level(level.get_submodule("change")(hidden), None)
        return self.encoder_out(hidden)  # type: ignore[no-any-return]

    def decode(self, latents: Tensor, active: Tensor | None = None) -> Tensor:
        """Features of latents (B, C, D), each row as long as its `active` (B, D) tokens; zeros beyond. (B, F, 263)"""
        here = None if active is None else active.unsqueeze(1).to(latents.dtype)  # (B, 1, D)
        hidden = self.decoder_in(_within(latents, here)).relu()
        for level in self.decoder:
            hidden = level(hidden, here).repeat_interleave(2, dim=2)
            here = None if here is None else here.repeat_interleave(2, dim=2)
            hidden = level.get_submodule("change")(_within(hidden, here))
        hidden = self.decoder_middle(_within(hidden, here)).relu()
        return _within(self.decoder_out(_within(hidden, here)), here).mT

    def nearest(self, latents: Tensor) -> Tensor:
        """The closest code of every latent (B, C, D). (B, D)"""
        codes = self.codebook
        return (codes.square().sum(1) - 2 * latents.mT @ codes.T).argmin(-1)  # |v|^2 decides nothing


def _within(x: Tensor, here: Tensor | None) -> Tensor:
    return x if here is None else x * here
