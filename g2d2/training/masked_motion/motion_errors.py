"""How far a reconstruction of motion is off, in metres."""

import torch
from torch import Tensor

from operators.skeleton import joints_from_features


def joint_errors(made: Tensor, truth: Tensor) -> Tensor:
    """Mean distance of the joints from their true places, both seen from the root, of features (B, F, 263). (B,)"""
    return (_around_root(made) - _around_root(truth)).norm(dim=-1).mean((1, 2))


def path_errors(made: Tensor, truth: Tensor) -> Tensor:
    """Distance of the recovered root from the true one on the floor, frame by frame. (B, F)"""
    gap = (joints_from_features(made, joints=[0]) - joints_from_features(truth, joints=[0]))[:, :, 0]
    return torch.stack([gap[..., 0], gap[..., 2]], dim=-1).norm(dim=-1)


def _around_root(features: Tensor) -> Tensor:
    """Joints relative to the root in its facing frame, from their own features. (B, F, 21, 3)"""
    places = features[..., 4:67].unflatten(-1, (21, 3))
    height = torch.zeros_like(places)
    height[..., 1] = features[..., 3:4]
    return places - height
