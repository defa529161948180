"""The masked transformer over motion tokens, in the shape that MMM publishes. It knows no timestep.

After a row's tokens stands an end, then padding that nothing attends to; end, padding and mask are the ids K, K + 1 and
K + 2. Tokens look at the words of the prompt first, then at each other and at the pooled prompt, which is put before
them; its own output is dropped.
"""

import math

import torch
from diffusers.configuration_utils import ConfigMixin, register_to_config
from diffusers.models.modeling_utils import ModelMixin
from torch import Tensor, nn

END, PAD, MASK = range(3)
"""Ids after those of the codes."""


class HeadedAttention(nn.Module):
    """Attention of a sequence to another, or to itself."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.out = nn.Linear(width, width)

    def forward(self, x: Tensor, context: Tensor, visible: Tensor | None = None) -> Tensor:
        """`visible` (B, 1, 1, N) is False where nothing of the context may be seen."""
        q, k, v = (
            part.unflatten(-1, (self.heads, -1)).transpose(1, 2)  # (B, H, N, W / H)
            for part in (self.query(x), self.key(context), self.value(context))
        )
        scores = q @ k.mT * q.shape[-1] ** -0.5
        if visible is not None:
            scores = scores.masked_fill(~visible, -math.inf)
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))  # type: ignore[no-any-return]


class TokenBlock(nn.Module):
    """Attention and feed-forward layers before norms; a block on words has a norm for these too."""

    dropout = 0.0
    """Share of its updates that is left out while it learns."""

    def __init__(self, width: int, heads: int, feed_forward: int, on_words: bool = False) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.norm_words = nn.LayerNorm(width) if on_words else None
        self.attention = HeadedAttention(width, heads)
        self.expand, self.contract = nn.Linear(width, feed_forward * width), nn.Linear(feed_forward * width, width)

    def forward(self, x: Tensor, words: Tensor | None = None, visible: Tensor | None = None) -> Tensor:
        normed = self.norm1(x)
        context = normed if self.norm_words is None else self.norm_words(words)
        x = x + self._thinned(self.attention(normed, context, visible))
        return x + self._thinned(self.contract(nn.functional.gelu(self.expand(self.norm2(x)))))

    def _thinned(self, update: Tensor) -> Tensor:
        return nn.functional.dropout(update, self.dropout, self.training) if self.dropout else update


class MotionTransformer(ModelMixin, ConfigMixin):  # type: ignore[misc]
    """Logits of every token given those that are not masked and the prompt."""

    codebook: Tensor
    positions: Tensor

    @register_to_config  # type: ignore[untyped-decorator]
    def __init__(
        self,
        codes: int = 8192,
        code_width: int = 32,
        tokens: int = 49,
        width: int = 1024,
        heads: int = 16,
        word_layers: int = 2,
        layers: int = 16,
        feed_forward: int = 4,
        text_width: int = 512,
    ) -> None:
        super().__init__()
        self.register_buffer("codebook", torch.zeros(codes, code_width))
        self.special = nn.Parameter(torch.randn(3, code_width))
        self.embed = nn.Linear(code_width, width)
        self.embed_pooled, self.embed_words = nn.Linear(text_width, width), nn.Linear(text_width, width)
        self.word_blocks = nn.ModuleList(TokenBlock(width, heads, feed_forward, True) for _ in range(word_layers))
        self.blocks = nn.ModuleList(TokenBlock(width, heads, feed_forward) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, codes, bias=False)
        self.register_buffer("positions", sinusoids(tokens + 2, width), persistent=False)  # (D + 2, W)

    @property
    def mask_id(self) -> int:
        """The id of a masked token."""
        return int(self.config.codes) + MASK

    def forward(self, tokens: Tensor, active: Tensor, pooled: Tensor, words: Tensor) -> Tensor:
        """Logits for tokens (B, D), which of them count (B, D), and the prompt (B, C) and (B, L, C). (B, K, D)"""
        ids, visible = self._ended(tokens, active)  # (B, D + 1), (B, 1, 1, D + 2)
        x = self.embed(torch.cat([self.codebook, self.special])[ids])  # (B, D + 1, W)
        x = x + self.positions[: x.shape[1]]
        states = self.embed_words(words)
        for block in self.word_blocks:
            x = block(x, states)
        x = torch.cat([self.embed_pooled(pooled).unsqueeze(1), x], dim=1) + self.positions
        for block in self.blocks:
            x = block(x, visible=visible)
        return self.head(self.norm(x[:, 1:-1])).mT  # type: ignore[no-any-return]

    def _ended(self, tokens: Tensor, active: Tensor) -> tuple[Tensor, Tensor]:
        """Ids with an end after each row's last token and padding behind, and what may be seen."""
        end, pad = self.config.codes + END, self.config.codes + PAD
        length = active.sum(1, keepdim=True)  # (B, 1)
        place = torch.arange(tokens.shape[1] + 2, device=tokens.device)
        ids = (
            nn.functional.pad(tokens, (0, 1))
            .masked_fill(place[:-1] > length, pad)
            .masked_fill(place[:-1] == length, end)
        )
        return ids, (place <= length + 1)[:, None, None]


def sinusoids(places: int, width: int) -> Tensor:
    """Sines and cosines of each place, alternating, at wavelengths from 2 pi to 10000 times that. (places, width)"""
    rates = torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
    angles = torch.arange(places)[:, None] * rates
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)
