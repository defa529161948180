"""How far a reconstruction of motion is off, in metres."""

import torch
from torch import Tensor

from operators.skeleton import FPS, joints_from_features
from operators.skeleton.joint_names import CONTACTS, FEET, POSITIONS, ROOT_HEIGHT


def joint_errors(made: Tensor, truth: Tensor) -> Tensor:
    """Mean distance of the joints from their true places, both seen from the root, of features (B, F, 263). (B,)"""
    errors: Tensor = torch.linalg.vector_norm(_around_root(made) - _around_root(truth), dim=-1)
    return errors.mean((1, 2))


def path_errors(made: Tensor, truth: Tensor) -> Tensor:
    """Distance of the recovered root from the true one on the floor, frame by frame. (B, F)"""
    gap = (joints_from_features(made, joints=[0]) - joints_from_features(truth, joints=[0]))[:, :, 0]
    errors: Tensor = torch.linalg.vector_norm(gap[..., 0::2], dim=-1)
    return errors


def foot_height_errors(made: Tensor, truth: Tensor) -> Tensor:
    """Mean difference in height of ankles and toes, (B,)."""
    feet = [POSITIONS.start + 3 * (joint - 1) + 1 for joint in FEET]
    return (made[..., feet] - truth[..., feet]).abs().mean((1, 2))


def resting_speed_errors(made: Tensor, truth: Tensor) -> Tensor:
    """Mean error in metres per second of ankles and toes over the floor in the steps in which they truly rest. (B,)

    In space and not as seen from the root: a foot that stays where it is while the body passes over it.
    """
    moved, really = (joints_from_features(x, joints=FEET)[..., 0::2].diff(dim=1) * FPS for x in (made, truth))
    rests = truth[:, :-1, CONTACTS] > 0.5  # (B, F - 1, 4)
    errors: Tensor = torch.linalg.vector_norm(moved - really, dim=-1)
    return (errors * rests).sum((1, 2)) / rests.sum((1, 2)).clamp(min=1)


def _around_root(features: Tensor) -> Tensor:
    """Joints relative to the root in its facing frame, from their own features. (B, F, 21, 3)"""
    places: Tensor = features[..., POSITIONS].unflatten(-1, (-1, 3))  # type: ignore[no-untyped-call]
    height = torch.zeros_like(places)
    height[..., 1] = features[..., ROOT_HEIGHT]
    return places - height
