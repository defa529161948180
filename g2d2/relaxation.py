"""From a categorical alpha to embeddings the decoder can differentiate."""

import torch
from torch import Tensor

from g2d2.settings import Relaxation


def relax(log_alpha: Tensor, noise: Tensor | None, temperature: Tensor, codebook: Tensor, kind: Relaxation) -> Tensor:
    """Embeddings (B, C, D) of log_alpha (B, K, D); codebook is (K, C), `noise` Gumbel where it is needed."""
    if noise is not None:
        weights = ((log_alpha + noise) / temperature).softmax(dim=1)
    else:
        weights = log_alpha.softmax(dim=1)
    soft = embed(weights, codebook)
    if kind == "gumbel-st":
        return _straight_through(soft, lookup(weights.argmax(dim=1), codebook))
    if kind == "quantized-expectation":
        return _straight_through(soft, lookup(nearest_code(soft, codebook), codebook))
    return soft


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
    with torch.no_grad():
        return torch.cdist(embeddings.mT, codebook).argmin(dim=-1)


def _straight_through(soft: Tensor, hard: Tensor) -> Tensor:
    return soft + (hard - soft).detach()
