"""RAdam and Adam with one learning rate per row; torch's take a single one for the whole tensor."""

import math

import torch
from torch import Tensor

from g2d2.choices import OptimizerName

BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-8
RHO_INFINITY = 2 / (1 - BETA_2) - 1


class RowOptimizer:
    """Moments of a (B, ...) variable; the update is element-wise, so rows never meet."""

    def __init__(self, name: OptimizerName, like: Tensor):
        self.rectified = name == "radam"
        self.count = 0.0
        self.mean = torch.zeros_like(like)
        self.square = torch.zeros_like(like)

    def update_(self, variable: Tensor, gradient: Tensor, rate: Tensor) -> Tensor:
        """One step on `variable` in place; `rate` broadcasts over it, e.g. (B, 1, 1)."""
        self.count += 1
        self.mean.lerp_(gradient, 1 - BETA_1)
        self.square.mul_(BETA_2).addcmul_(gradient, gradient, value=1 - BETA_2)
        rate = rate / (1 - BETA_1**self.count)
        trust = rectification(self.count) if self.rectified else 1.0
        if trust is None:
            return variable.sub_(self.mean * rate)
        unbias = math.sqrt(1 - BETA_2**self.count)
        epsilon = EPSILON if self.rectified else EPSILON * unbias  # torch's two optimisers add it at different places
        return variable.sub_(self.mean.div(self.square.sqrt().add_(epsilon)).mul_(rate * (trust * unbias)))

    def fade_(self, kept: float) -> None:
        """Let the moments stand for so large a share of the updates that made them; unbiased, they stay as they are."""
        if kept == 1:
            return
        count = kept * self.count
        for moment, beta in ((self.mean, BETA_1), (self.square, BETA_2)):
            moment.mul_((1 - beta**count) / (1 - beta**self.count))
        self.count = count


def rectification(count: float) -> float | None:
    """RAdam's variance rectification at step `count`; None while the variance is intractable (plain momentum)."""
    decay = BETA_2**count
    rho = RHO_INFINITY - 2 * count * decay / (1 - decay)
    if rho <= 5:
        return None
    infinite = (RHO_INFINITY - 4) * (RHO_INFINITY - 2) / RHO_INFINITY
    return math.sqrt((rho - 4) * (rho - 2) / rho / infinite)
