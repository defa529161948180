"""How far a reconstruction of motion is off, in metres."""

import torch
from torch import Tensor

from operators.skeleton import joints_from_features
from operators.skeleton.joint_names import POSITIONS, ROOT_HEIGHT


def joint_errors(made: Tensor, truth: Tensor) -> Tensor:
    """Mean distance of the joints from their true places, both seen from the root, of features (B, F, 263). (B,)"""
    errors: Tensor = torch.linalg.vector_norm(_around_root(made) - _around_root(truth), dim=-1)
    return errors.mean((1, 2))


def path_errors(made: Tensor, truth: Tensor) -> Tensor:
    """Distance of the recovered root from the true one on the floor, frame by frame. (B, F)"""
    gap = (joints_from_features(made, joints=[0]) - joints_from_features(truth, joints=[0]))[:, :, 0]
    errors: Tensor = torch.linalg.vector_norm(gap[..., 0::2], dim=-1)
    return errors


def _around_root(features: Tensor) -> Tensor:
    """Joints relative to the root in its facing frame, from their own features. (B, F, 21, 3)"""
    places: Tensor = features[..., POSITIONS].unflatten(-1, (-1, 3))  # type: ignore[no-untyped-call]
    height = torch.zeros_like(places)
    height[..., 1] = features[..., ROOT_HEIGHT]
    return places - height
