"""Averaged weights: what is measured and exported instead of the last step's."""

import copy
from typing import Any, Generic, TypeVar

import torch
from torch import nn

from g2d2.training.descent import Descent

Network = TypeVar("Network", bound=nn.Module)


class AveragedStage(Generic[Network]):
    """What a stage with averaged weights keeps in its checkpoints."""

    prior: Network
    average: Network
    descent: Descent

    def state(self) -> dict[str, Any]:
        return {"prior": self.prior.state_dict(), "average": self.average.state_dict(), "descent": self.descent.state()}

    def load(self, state: dict[str, Any]) -> None:
        self.prior.load_state_dict(state["prior"])
        self.average.load_state_dict(state["average"])
        self.descent.load(state["descent"])


def averaged_copy(network: Network) -> Network:
    """A frozen copy in evaluation mode, for `follow` to update."""
    return copy.deepcopy(network).requires_grad_(False).eval()


@torch.no_grad()
def follow(average: nn.Module, network: nn.Module, decay: float, index: int) -> None:
    """Move averaged weights towards the network's after step `index`."""
    # The ramp forgets the random start; without it a short run would average mostly noise.
    decay = min(decay, (1 + index) / (10 + index))
    for averaged, current in zip(average.parameters(), network.parameters(), strict=True):
        averaged.lerp_(current, 1 - decay)
