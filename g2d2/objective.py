"""The objective of one variational step: eta_KL * KL(alpha || prior) + misfit of the decoded image, per row."""

import torch
from torch import Tensor


def kl_divergence(log_alpha: Tensor, log_prior: Tensor) -> Tensor:
    """KL of two token-wise normalised categoricals (B, K, D), summed over tokens. (B,)"""
    return kl_with_gradient(log_alpha, log_prior)[0]


def kl_with_gradient(log_alpha: Tensor, log_prior: Tensor, exact: bool = True) -> tuple[Tensor, Tensor]:
    """The KL (B,) and its gradient alpha_k (log alpha_k - log prior_k - KL of the token). (B, K, D)

    `exact=False` gives the published code's gradient, in which logits stand where their log-softmax belongs: the value
    is the same, the gradient gains alpha itself.
    """
    alpha, log_ratio = log_alpha.exp(), log_alpha - log_prior
    per_token = (alpha * log_ratio).sum(dim=1, keepdim=True)  # (B, 1, D)
    shift = per_token if exact else per_token - 1
    return per_token.sum(dim=(1, 2)), log_ratio.sub_(shift).mul_(alpha)


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
