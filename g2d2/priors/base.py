"""What a solver asks of a prior."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from g2d2.schedule import NoiseSchedule


@dataclass(frozen=True)
class Condition:
    """Encoded prompts of a batch with each row's guidance scale."""

    embeddings: Tensor  # (B, L, C)
    guidance: Tensor  # (B,), on the CPU so that choosing passes never waits for a device

    @property
    def passes(self) -> Tensor:
        """How often each row runs through the network per call: with and without prompt, unless one has no weight."""
        return (self.guidance != 0).int() + (self.guidance != 1).int()  # (B,)


@runtime_checkable
class Prior(Protocol):
    """A frozen discrete generative model over D tokens of K codes, with a differentiable decoder."""

    @property
    def codebook(self) -> Tensor:
        """Embedding of every code. (K, C)"""

    @property
    def schedule(self) -> NoiseSchedule: ...

    @property
    def num_tokens(self) -> int: ...

    @property
    def image_shape(self) -> tuple[int, int, int]: ...

    @property
    def device(self) -> torch.device: ...

    @property
    def dtype(self) -> torch.dtype:
        """Precision of the solver's own arithmetic; networks may run in less."""

    @property
    def decode_rows(self) -> int | None:
        """Rows to decode and differentiate at once, to bound memory; None takes the whole batch."""

    def encode_prompts(self, prompts: Sequence[str], guidance: Sequence[float]) -> Condition: ...

    def log_probs(self, z_t: Tensor, t: int, condition: Condition, top_p: float = 1.0) -> Tensor:
        """log p(z_0 | z_t) at noise level t for tokens (B, D). (B, K, D)"""

    def decode(self, embeddings: Tensor) -> Tensor:
        """Images in about [-1, 1] from embeddings (B, C, D), differentiable. (B, channels, H, W)"""

    def encode(self, images: Tensor) -> Tensor:
        """Tokens of images in [-1, 1]. (B, D)"""
