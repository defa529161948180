"""The objective of one variational step: eta_KL * KL(alpha || prior) + misfit of what alpha decodes to, per row."""

from itertools import accumulate, pairwise

import torch
from torch import Tensor

from operators import Operator


def kl_divergence(log_alpha: Tensor, log_prior: Tensor) -> Tensor:
    """KL of two token-wise normalised categoricals (B, K, D), summed over tokens. (B,)"""
    return kl_with_gradient(log_alpha, log_prior)[0]


def kl_with_gradient(
    log_alpha: Tensor, log_prior: Tensor, exact: bool = True, active: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """The KL (B,) and its gradient alpha_k (log alpha_k - log prior_k - KL of the token). (B, K, D)

    Tokens that are not `active` (B, D) count for nothing in either.

    `exact=False` gives the published code's gradient, in which logits stand where their log-softmax belongs: the value
    is the same, the gradient gains alpha itself.
    """
    alpha, log_ratio = log_alpha.exp(), log_alpha - log_prior
    per_token = (alpha * log_ratio).sum(dim=1, keepdim=True)  # (B, 1, D)
    shift = per_token if exact else per_token - 1
    gradient = log_ratio.sub_(shift).mul_(alpha)
    if active is not None:
        per_token, gradient = per_token * active.unsqueeze(1), gradient.mul_(active.unsqueeze(1))
    return per_token.sum(dim=(1, 2)), gradient


def misfit(operator: Operator, x: Tensor, y: Tensor, squared: bool = False) -> Tensor:
    """||y - A x||_2 of each row as its operator measures it, or its square. (B,)"""
    residual = operator(x) - y
    return residual.flatten(1).square().sum(dim=1) if squared else operator.norm(residual)


def schedule_weight(decades: Tensor, step: int, steps: int, endpoints: bool = False) -> Tensor:
    """w(t) of the learning rate and of eta_KL at step 0 (t = T) to steps - 1 (t = 1)."""
    if endpoints:
        position = 1 - 2 * step / (steps - 1) if steps > 1 else 1.0
    else:
        position = 2 * (steps - step) / steps - 1
    return torch.pow(10.0, decades / 2 * position)


def iteration_counts(steps: int, iterations: int, decades: float) -> list[int]:
    """Iterations of every step: `steps` times `iterations` in all, one at least, the others falling over `decades`."""
    weights = [10 ** (-decades * (step + 0.5) / steps) for step in range(steps)]
    ends = [round(steps * (iterations - 1) * part / sum(weights)) for part in accumulate(weights, initial=0.0)]
    return [1 + end - start for start, end in pairwise(ends)]
