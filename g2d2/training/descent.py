"""One descent step: orthogonalised momentum for the matrices of a network, AdamW for all its other weights."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from g2d2.training.loop import cosine_lr
from g2d2.training.orthogonal import OrthogonalMomentum

IsMatrix = Callable[[str, nn.Parameter], bool]


class Descent:
    """Orthogonalised momentum for the weights that `is_matrix` selects by name, AdamW for all others."""

    def __init__(
        self, network: nn.Module, is_matrix: IsMatrix, lr_matrices: float, lr_rest: float, weight_decay: float
    ) -> None:
        matrices: list[nn.Parameter] = []
        rest: list[nn.Parameter] = []
        for name, weight in network.named_parameters():
            if weight.requires_grad:
                (matrices if is_matrix(name, weight) else rest).append(weight)
        self.peaks = {"matrices": lr_matrices, "rest": lr_rest}
        self.optimizers: dict[str, torch.optim.Optimizer] = {
            "matrices": OrthogonalMomentum(matrices, lr_matrices, weight_decay=weight_decay),
            "rest": torch.optim.AdamW(rest, lr=lr_rest, betas=(0.9, 0.95), weight_decay=0),
        }

    def step(self, loss: Tensor, fraction: float) -> None:
        """Back-propagate and update, at the learning rates of this fraction of the budget."""
        for name, optimizer in self.optimizers.items():
            optimizer.param_groups[0]["lr"] = self.peaks[name] * cosine_lr(fraction)
            optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        for optimizer in self.optimizers.values():
            optimizer.step()

    def state(self) -> dict[str, Any]:
        """State of both optimisers, by name."""
        return {name: optimizer.state_dict() for name, optimizer in self.optimizers.items()}

    def load(self, state: dict[str, Any]) -> None:
        """Restore `state`."""
        for name, optimizer in self.optimizers.items():
            optimizer.load_state_dict(state[name])
