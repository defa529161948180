"""Feet that slide while they are on the floor, as GMD (Karunratanakul et al. 2023) and OmniControl count it."""

from typing import ClassVar

import torch
from torch import Tensor

from eval.metrics.base import RowMetric, Scored
from eval.metrics.info import Need
from operators.skeleton import FPS, LONGEST, joints_from_features
from operators.skeleton.feet_heights import low_toes
from operators.skeleton.joint_names import TOES

FAST = 0.5
"""Metres per second along the floor above which it slides, in the step itself and in the mean of five."""
WINDOW = 5


def sliding_steps(joints: Tensor) -> Tensor:
    """Whether either toe slides from each frame to the next: (B, F, 22, 3) -> (B, F - 1)."""
    toes = joints[:, :, list(TOES)]  # (B, F, 2, 3)
    speed: Tensor = torch.linalg.vector_norm((toes[:, 1:] - toes[:, :-1])[..., 0::2], dim=-1) * FPS
    low = low_toes(joints)  # in both frames of a step
    beyond = torch.zeros_like(speed[:, : WINDOW // 2])  # nothing moves before and after a clip
    padded = torch.cat([beyond, speed, beyond], dim=1)
    mean: Tensor = sum(padded[:, shift : shift + speed.shape[1]] for shift in range(WINDOW)) / WINDOW  # type: ignore[assignment]
    slides = low[:, 1:] & low[:, :-1] & (speed > FAST) & (mean > FAST)
    return slides.any(dim=-1)


class FootSkating(RowMetric):
    """The share of a clip's own steps in which a foot slides."""

    name = "foot_skating"
    direction = "lower"
    summary = "share of steps in which a foot slides over the floor"
    share = True
    tolerance: ClassVar[float | None] = 0.01
    signals = ("motion",)
    needs: ClassVar[tuple[Need, ...]] = ()

    def rows(self, truth: Tensor, x: Tensor, scored: Scored) -> Tensor:
        slides = sliding_steps(joints_from_features(x.double()))
        return slides.sum(1).double() / self.steps(slides.shape[1])

    def steps(self, own: int) -> int:
        """What sliding steps are divided by."""
        return max(own, 1)


class FootSkatingPaper(FootSkating):
    """The same over 195 steps whatever a clip's length, as the published code divides: shorter clips look better."""

    name = "foot_skating_paper"
    summary = "steps in which a foot slides over the floor, divided by 195 as published"
    tolerance = None  # the same count is judged already

    def steps(self, own: int) -> int:
        return LONGEST - 1
