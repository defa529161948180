"""The codebook apart from gradients: k-means start, moving-average updates, re-seeding of dead codes."""

from typing import Any, Generic, TypeVar

import torch
from torch import Tensor, nn

Tokeniser = TypeVar("Tokeniser", bound=nn.Module)


def nearest(vectors: Tensor, codes: Tensor) -> Tensor:
    """Index of the closest code for each vector, (N, C) and (K, C) -> (N,)."""
    # argmin of |v - c|^2 needs no |v|^2.
    return (codes.square().sum(1) - 2 * vectors @ codes.T).argmin(1)


def kmeans(vectors: Tensor, count: int, generator: torch.Generator, rounds: int = 20) -> Tensor:
    """Lloyd's algorithm from random vectors; an empty cluster restarts at a random vector."""
    order = torch.randperm(len(vectors), generator=generator)
    centres = vectors[order[:count].to(vectors.device)].clone()  # (K, C)
    for _ in range(rounds):
        sums, sizes = _cluster(vectors, nearest(vectors, centres), count)
        fresh = torch.randint(len(vectors), (count,), generator=generator).to(vectors.device)
        centres = torch.where(sizes[:, None] > 0, sums / sizes[:, None].clamp(min=1), vectors[fresh])
    return centres


class MovingCodebook:
    """Codes that follow the mean of the vectors assigned to them."""

    def __init__(self, codes: Tensor, decay: float, dead_share: float) -> None:
        self.codes = codes  # (K, C), written in place
        self.decay = decay
        self.dead_share = dead_share
        self.sums = torch.zeros_like(codes)
        self.sizes = torch.zeros(len(codes), device=codes.device)

    def start(self, centres: Tensor, vectors: Tensor) -> None:
        """Adopt centres and the statistics of the vectors they came from, scaled to one update's worth."""
        self.codes.copy_(centres)
        sums, sizes = _cluster(vectors, nearest(vectors, centres), len(centres))
        scale = 1 / max(1, len(vectors) // 4096)
        self.sums.copy_(sums * scale)
        self.sizes.copy_(sizes * scale)

    def update(self, vectors: Tensor, indices: Tensor, generator: torch.Generator, restart: bool) -> int:
        """Move every code towards its vectors; return how many dead codes were re-seeded."""
        sums, sizes = _cluster(vectors, indices, len(self.codes))
        self.sums.lerp_(sums, 1 - self.decay)
        self.sizes.lerp_(sizes, 1 - self.decay)
        self.codes.copy_(torch.where(self.sizes[:, None] > 1e-3, self._means(), self.codes))
        if not restart:
            return 0
        fair = self.sizes.sum() / len(self.codes)
        dead = (self.sizes < self.dead_share * fair).nonzero().flatten()
        picks = torch.randint(len(vectors), (len(dead),), generator=generator).to(vectors.device)
        self.codes[dead] = vectors[picks]
        self.sums[dead] = vectors[picks] * fair
        self.sizes[dead] = fair
        return len(dead)

    def _means(self) -> Tensor:
        return self.sums / self.sizes[:, None].clamp(min=1e-3)


def _cluster(vectors: Tensor, indices: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Sum and number of the vectors of each cluster."""
    sums = torch.zeros(count, vectors.shape[1], device=vectors.device).index_add_(0, indices, vectors)
    sizes = torch.bincount(indices, minlength=count).to(vectors.dtype)
    return sums, sizes


class QuantisedStage(Generic[Tokeniser]):
    """What a stage that trains a tokeniser keeps in its checkpoints."""

    vqvae: Tokeniser
    optimizer: torch.optim.Optimizer
    codebook: MovingCodebook
    quantised: bool

    def state(self) -> dict[str, Any]:
        return {
            "vqvae": self.vqvae.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "sums": self.codebook.sums,
            "sizes": self.codebook.sizes,
            "quantised": self.quantised,
        }

    def load(self, state: dict[str, Any]) -> None:
        self.vqvae.load_state_dict(state["vqvae"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.codebook.sums.copy_(state["sums"])
        self.codebook.sizes.copy_(state["sizes"])
        self.quantised = state["quantised"]
