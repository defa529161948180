"""CLIP-VQDiffusion's own two networks, in diffusers' folder layout: diffusers has neither.

Its transformer has no cross-attention. One CLIP text embedding scales and shifts the input of each block's MLP, and
that MLP is two 3x3 convolutions over the token grid. Its tokeniser is a Gumbel VQGAN, which picks a code by logits
instead of by distance. (Han and Kim, arXiv 2403.14944)
"""

from functools import wraps
from typing import Any

import torch
from diffusers import VQModel
from diffusers.configuration_utils import ConfigMixin, register_to_config
from diffusers.models.attention_processor import Attention
from diffusers.models.embeddings import ImagePositionalEmbeddings
from diffusers.models.modeling_utils import ModelMixin
from diffusers.models.normalization import AdaLayerNorm
from torch import Tensor, nn


class ConditionNorm(nn.Module):
    """Layer norm whose scale and shift come from the condition."""

    def __init__(self, width: int):
        super().__init__()
        self.emb = nn.Linear(width, width)
        self.linear = nn.Linear(width, 2 * width)
        self.norm = nn.LayerNorm(width, elementwise_affine=False)

    def forward(self, x: Tensor, condition: Tensor) -> Tensor:
        scale, shift = self.linear(nn.functional.silu(self.emb(condition))).chunk(2, dim=-1)  # (B, 1, C) each
        return self.norm(x) * (1 + scale) + shift  # type: ignore[no-any-return]


class ConvolutionalMLP(nn.Module):
    """Two 3x3 convolutions over the token grid around the sigmoid approximation of GELU."""

    def __init__(self, width: int, side: int):
        super().__init__()
        self.side = side
        self.conv1 = nn.Conv2d(width, 4 * width, 3, padding=1)
        self.conv2 = nn.Conv2d(4 * width, width, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.conv1(x.mT.unflatten(-1, (self.side, self.side)))  # (B, 4C, h, w)
        hidden = hidden * torch.sigmoid(1.702 * hidden)
        return self.conv2(hidden).flatten(2).mT  # type: ignore[no-any-return]


class Block(nn.Module):
    def __init__(self, heads: int, head_width: int, side: int, steps: int):
        super().__init__()
        width = heads * head_width
        self.norm1 = AdaLayerNorm(width, steps)
        self.attn1 = Attention(width, heads=heads, dim_head=head_width, bias=True)
        self.norm2 = ConditionNorm(width)
        self.ff = ConvolutionalMLP(width, side)

    def forward(self, x: Tensor, condition: Tensor, timestep: Tensor) -> Tensor:
        x = x + self.attn1(self.norm1(x, timestep))
        return x + self.ff(self.norm2(x, condition))  # type: ignore[no-any-return]


class ClipConditionedTransformer(ModelMixin, ConfigMixin):  # type: ignore[misc]
    """Called like diffusers' VQ-Diffusion `Transformer2DModel`, with one condition vector instead of a sequence."""

    @register_to_config  # type: ignore[untyped-decorator]
    def __init__(
        self,
        num_attention_heads: int = 16,
        attention_head_dim: int = 32,
        num_layers: int = 24,
        cross_attention_dim: int = 512,
        sample_size: int = 16,
        num_vector_embeds: int = 4097,
        num_embeds_ada_norm: int = 100,
    ):
        super().__init__()
        width = num_attention_heads * attention_head_dim
        if cross_attention_dim != width:
            raise ValueError(f"cross_attention_dim {cross_attention_dim} must equal the width {width}")
        self.height = self.width = sample_size
        self.latent_image_embedding = ImagePositionalEmbeddings(num_vector_embeds, sample_size, sample_size, width)
        self.transformer_blocks = nn.ModuleList(
            Block(num_attention_heads, attention_head_dim, sample_size, num_embeds_ada_norm) for _ in range(num_layers)
        )
        self.norm_out = nn.LayerNorm(width)
        self.out = nn.Linear(width, num_vector_embeds - 1)

    def forward(
        self, hidden_states: Tensor, encoder_hidden_states: Tensor, timestep: Tensor, return_dict: bool = False
    ) -> tuple[Tensor]:
        """log p(z_0 | z_t) for tokens (B, D), condition (B, 1, C) and one timestep. (B, K, D)"""
        x = self.latent_image_embedding(hidden_states)
        for block in self.transformer_blocks:
            x = block(x, encoder_hidden_states, timestep)
        return (self.out(self.norm_out(x)).mT.float().log_softmax(dim=1),)


class GumbelQuantizer(nn.Module):
    """Codes by their logits; answers like diffusers' `VectorQuantizer` in evaluation."""

    def __init__(self, codes: int, width: int):
        super().__init__()
        self.proj = nn.Conv2d(width, codes, 1)
        self.embedding = nn.Embedding(codes, width)

    def forward(self, z: Tensor) -> tuple[Tensor, Tensor, tuple[None, None, Tensor]]:
        tokens = self.proj(z).argmax(dim=1)  # (B, h, w)
        return self.embedding(tokens).permute(0, 3, 1, 2), z.new_zeros(()), (None, None, tokens)


class GumbelVQModel(VQModel):  # type: ignore[misc]
    """diffusers' `VQModel` with a Gumbel VQGAN's quantiser."""

    @wraps(VQModel.__init__)  # type: ignore[misc]  # diffusers reads the accepted configuration off this signature
    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        width = self.config.vq_embed_dim or self.config.latent_channels
        self.quantize = GumbelQuantizer(self.config.num_vq_embeddings, width)
