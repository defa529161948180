"""RAdam and Adam with one learning rate per row; torch's take a single one for the whole tensor."""

import math
from copy import copy
from typing import TypeVar

import torch
from torch import Tensor

from g2d2.choices import OptimizerName

BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-8
RHO_INFINITY = 2 / (1 - BETA_2) - 1

Count = TypeVar("Count", float, Tensor)


class RowOptimizer:
    """Moments of a (B, ...) variable; the update is element-wise, so rows never meet.

    All rows have taken as many updates, unless they have `own_counts`: then some may rest, and go on later.
    """

    def __init__(self, name: OptimizerName, like: Tensor, own_counts: bool = False):
        self.rectified = name == "radam"
        shape = (len(like), *[1] * (like.ndim - 1))
        self.count: float | Tensor = 0.0
        if own_counts:
            self.count = torch.zeros(shape, dtype=torch.float64, device=like.device)
        self.mean = torch.zeros_like(like)
        self.square = torch.zeros_like(like)

    def update_(self, variable: Tensor, gradient: Tensor, rate: Tensor, moving: Tensor | None = None) -> Tensor:
        """One step on `variable` in place; `rate` broadcasts over it, e.g. (B, 1, 1).

        Where `moving` (bool, as `rate`) is false, moments and count stay as they are; what becomes of the variable
        there means nothing.
        """
        if moving is None:
            self.count = self.count + 1
            self.mean.lerp_(gradient, 1 - BETA_1)
            self.square.mul_(BETA_2).addcmul_(gradient, gradient, value=1 - BETA_2)
        else:
            self.count = self.count + (moving if isinstance(self.count, Tensor) else 1)
            self.mean.lerp_(torch.where(moving, gradient, self.mean), 1 - BETA_1)
            square = self.square.mul(BETA_2).addcmul_(gradient, gradient, value=1 - BETA_2)
            self.square = torch.where(moving, square, self.square)
        if isinstance(self.count, Tensor):
            return self._update_by_counts(variable, rate, self.count)
        rate = rate / (1 - BETA_1**self.count)
        trust = rectification(self.count) if self.rectified else 1.0
        if trust is None:
            return variable.sub_(self.mean * rate)
        unbias = math.sqrt(1 - BETA_2**self.count)
        epsilon = EPSILON if self.rectified else EPSILON * unbias  # torch's two optimisers add it at different places
        return variable.sub_(self.mean.div(self.square.sqrt().add_(epsilon)).mul_(rate * (trust * unbias)))

    def _update_by_counts(self, variable: Tensor, rate: Tensor, count: Tensor) -> Tensor:
        """The same where every row has a count of its own, which the device alone may know."""
        rate = rate / (1 - BETA_1**count).to(rate)
        unbias = (1 - BETA_2**count).sqrt()
        if not self.rectified:
            divided = self.mean.div(self.square.sqrt().add_((EPSILON * unbias).to(rate)))
            return variable.sub_(divided.mul_(rate * unbias.to(rate)))
        rho = _rho(count)
        divided = self.mean.div(self.square.sqrt().add_(EPSILON)).mul_(rate * (_trust(rho).sqrt() * unbias).to(rate))
        return variable.sub_(torch.where(rho > 5, divided, self.mean * rate))

    def fade_(self, kept: float) -> None:
        """Let the moments stand for so large a share of the updates that made them; unbiased, they stay as they are."""
        if kept == 1:
            return
        count = kept * self.count
        for moment, beta in ((self.mean, BETA_1), (self.square, BETA_2)):
            share = (1 - beta**count) / (1 - beta**self.count)
            if isinstance(share, Tensor):
                share = share.nan_to_num(0.0).to(moment)  # a row without updates has no moments
            moment.mul_(share)
        self.count = count

    def select(self, rows: Tensor) -> "RowOptimizer":
        """What is of some rows (M,)."""
        part = copy(self)
        part.mean, part.square = self.mean[rows], self.square[rows]
        part.count = self.count[rows] if isinstance(self.count, Tensor) else self.count
        return part

    def put_(self, rows: Tensor, part: "RowOptimizer") -> None:
        """Take over what became of some rows (M,)."""
        self.mean.index_copy_(0, rows, part.mean)
        self.square.index_copy_(0, rows, part.square)
        if isinstance(self.count, Tensor) and isinstance(part.count, Tensor):
            self.count = self.count.index_copy(0, rows, part.count)
        else:
            self.count = part.count


def rectification(count: float) -> float | None:
    """RAdam's variance rectification at step `count`; None while the variance is intractable (plain momentum)."""
    rho = _rho(count)
    return None if rho <= 5 else math.sqrt(_trust(rho))


def _rho(count: Count) -> Count:
    """The length of the moving average at step `count`."""
    decay: Count = BETA_2**count
    return RHO_INFINITY - 2 * count * decay / (1 - decay)


def _trust(rho: Count) -> Count:
    """The square of the rectification."""
    infinite = (RHO_INFINITY - 4) * (RHO_INFINITY - 2) / RHO_INFINITY
    return (rho - 4) * (rho - 2) / rho / infinite
