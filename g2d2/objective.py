"""The objective of one variational step: eta_KL * KL(alpha || prior) + misfit of the decoded image, per row."""

import torch
from torch import Tensor


def kl_divergence(log_alpha: Tensor, log_prior: Tensor, exact_gradient: bool = True) -> Tensor:
    """KL of two token-wise categoricals (B, K, D), summed over tokens. (B,)

    With `exact_gradient=False` the logits stand where their log-softmax belongs: for normalised logits the value is
    the same, the gradient gains alpha itself (the published code's behaviour).
    """
    normalised = log_alpha.log_softmax(dim=1)
    log_ratio = (normalised if exact_gradient else log_alpha) - log_prior
    return (normalised.exp() * log_ratio).sum(dim=(1, 2))


def misfit(measured: Tensor, y: Tensor, squared: bool = False) -> Tensor:
    """||y - A x||_2 of each image, or its square. (B,)"""
    residual = (measured - y).flatten(1)
    return residual.square().sum(dim=1) if squared else torch.linalg.vector_norm(residual, dim=1)


def schedule_weight(decades: Tensor, step: int, steps: int, endpoints: bool = False) -> Tensor:
    """w(t) of the learning rate and of eta_KL at step 0 (t = T) to steps - 1 (t = 1)."""
    if endpoints:
        position = 1 - 2 * step / (steps - 1) if steps > 1 else 1.0
    else:
        position = 2 * (steps - step) / steps - 1
    return torch.pow(10.0, decades / 2 * position)
