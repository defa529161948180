"""Which toes are on the floor: by height alone, as published scores of sliding feet have it."""

from torch import Tensor

from operators.skeleton.joint_names import TOES

LOW = 0.05
"""Metres below which a toe is on the floor; the joint of one that rests lies two or three centimetres above it."""


def low_toes(joints: Tensor) -> Tensor:
    """Whether the left and the right toe are on the floor: (B, F, 22, 3) -> (B, F, 2)."""
    return joints[:, :, list(TOES), 1] < LOW
