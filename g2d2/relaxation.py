"""From a categorical alpha to embeddings the decoder can differentiate, and back.

The gradient is written out: only the decoder and the operator go through autograd, which keeps no tensor of size
K x D per row for the way back.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from g2d2.choices import Relaxation


@dataclass(frozen=True)
class Relaxed:
    """Embeddings of alpha for one set of Gumbel numbers, with what their gradient needs."""

    embeddings: Tensor  # (B, C, D)
    weights: Tensor  # (B, K, D)
    soft: Tensor  # (B, C, D): the weighted mean of codes; the embeddings themselves unless they are hard
    codebook: Tensor  # (K, C)
    temperature: Tensor | None

    def gradient(self, embedding_gradient: Tensor) -> Tensor:
        """d loss / d log_alpha from d loss / d embeddings; straight through where they are hard. (B, K, D)

        Through e = sum_k w_k b_k and the softmax: w_k (b_k . g - e . g) / temperature.
        """
        mean = (self.soft * embedding_gradient).sum(dim=1, keepdim=True)  # (B, 1, D)
        gradient = (self.codebook @ embedding_gradient).sub_(mean).mul_(self.weights)
        return gradient if self.temperature is None else gradient.div_(self.temperature)


def relax(log_alpha: Tensor, noise: Tensor | None, temperature: Tensor, codebook: Tensor, kind: Relaxation) -> Relaxed:
    """Relax log_alpha (B, K, D); codebook is (K, C), `noise` Gumbel where the kind needs it and is overwritten."""
    if noise is not None:
        weights = noise.add_(log_alpha).div_(temperature).softmax(dim=1)
    else:
        weights = log_alpha.softmax(dim=1)
    soft = embed(weights, codebook)
    if kind == "gumbel-st":
        embeddings = lookup(weights.argmax(dim=1), codebook)
    elif kind == "quantized-expectation":
        embeddings = lookup(nearest_code(soft, codebook), codebook)
    else:
        embeddings = soft
    return Relaxed(embeddings, weights, soft, codebook, None if noise is None else temperature)


def needs_noise(kind: Relaxation) -> bool:
    return kind in ("gumbel", "gumbel-st")


def embed(weights: Tensor, codebook: Tensor) -> Tensor:
    """Mean embedding under weights (B, K, D). (B, C, D)"""
    return codebook.T @ weights


def lookup(tokens: Tensor, codebook: Tensor) -> Tensor:
    """Embeddings of tokens (B, D). (B, C, D)"""
    return codebook[tokens].mT


def nearest_code(embeddings: Tensor, codebook: Tensor) -> Tensor:
    """The code closest to each embedding (B, C, D). (B, D)"""
    return torch.cdist(embeddings.mT, codebook).argmin(dim=-1)
