"""Momentum whose matrix updates are orthogonalised (the Muon optimiser of Jordan et al., 2024).

It is meant to learn from fewer images than AdamW, and images are what a budget of minutes lacks. It runs in
float32: torch's own `Muon` computes in bfloat16, which many CPUs emulate.
"""

from collections.abc import Callable, Iterable

import torch
from torch import Tensor

# Quintic iteration x -> a x + b x^3 + c x^5 on the singular values; steep at zero, settles around one.
_A, _B, _C = 3.4445, -4.7750, 2.0315


def orthogonalise(matrix: Tensor, rounds: int = 5) -> Tensor:
    """Push all singular values of a matrix towards one."""
    wide = matrix.shape[0] <= matrix.shape[1]
    x: Tensor = matrix if wide else matrix.T
    x = x / (x.norm() + 1e-7)
    for _ in range(rounds):
        gram = x @ x.T
        x = _A * x + (_B * gram + _C * gram @ gram) @ x
    return x if wide else x.T


class OrthogonalMomentum(torch.optim.Optimizer):
    """Nesterov momentum, orthogonalised, with decoupled weight decay; a convolution's kernel counts as one matrix."""

    def __init__(self, params: Iterable[Tensor], lr: float, momentum: float = 0.95, weight_decay: float = 0.0) -> None:
        super().__init__(params, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            for weight in group["params"]:
                if weight.grad is None:
                    continue
                state = self.state[weight]
                if not state:
                    state["momentum"] = torch.zeros_like(weight)
                velocity = state["momentum"].lerp_(weight.grad, 1 - group["momentum"])
                update = orthogonalise(weight.grad.lerp(velocity, group["momentum"]).flatten(1))
                # Tall matrices get a larger step so that every output moves by the same amount.
                update = update * max(1.0, update.shape[0] / update.shape[1]) ** 0.5
                weight.mul_(1 - group["lr"] * group["weight_decay"]).sub_(group["lr"] * update.view_as(weight))
