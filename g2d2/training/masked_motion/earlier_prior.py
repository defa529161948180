"""Weights of an earlier prior of the same shape, for a run that goes on from it."""

from pathlib import Path

from torch import nn

from g2d2.priors.masked_motion.motion_components import load_motion_part
from operators.errors import InputError


def take_weights(network: nn.Module, folder: Path, name: str) -> None:
    """Load one part of the prior in a folder into a network, in the network's own precision."""
    try:
        network.load_state_dict(load_motion_part(folder, name).state_dict())
    except RuntimeError:
        raise InputError(f"start: the {name} of {folder} has another shape than the recipe's.") from None
