"""Where a clip stands before its features are taken: one body, feet on the floor, at the origin, facing +z."""

import torch
from torch import Tensor

from operators.skeleton.joint_names import PARENTS
from operators.skeleton.quaternions import length, turned_about_y, unit

REFERENCE_BONES = (
    0.1031, 0.1099, 0.1316, 0.3936, 0.3902, 0.1432, 0.4324, 0.4256, 0.0574, 0.1434, 0.1494,
    0.2194, 0.1375, 0.1434, 0.1030, 0.1316, 0.1230, 0.2568, 0.2631, 0.2660, 0.2699,
)  # fmt: skip
"""Metres from joints 1 to 21 to their parents, of the body that all clips of HumanML3D share."""
_LEG = (5, 8)  # right knee, right ankle: their bones scale a body's path

LEFT_HIP, RIGHT_HIP, LEFT_SHOULDER, RIGHT_SHOULDER = 1, 2, 16, 17


def valid_frames(lengths: Tensor | None, frames: int, like: Tensor) -> Tensor:
    """Which frames of each row are its own; one row for all where no lengths are given. (B or 1, F)"""
    steps = torch.arange(frames, device=like.device)
    return torch.ones(1, frames, dtype=torch.bool, device=like.device) if lengths is None else steps < lengths[:, None]


def on_reference_body(joints: Tensor, bones: tuple[float, ...] = REFERENCE_BONES) -> Tensor:
    """The same directions of all bones with the lengths of one body; the path is scaled with the legs. (B, F, 22, 3)"""
    target = torch.tensor(bones, dtype=joints.dtype, device=joints.device)
    first = joints[:, 0]  # (B, 22, 3)
    own_leg = sum(length(first[:, joint] - first[:, PARENTS[joint]]) for joint in _LEG)  # (B, 1)
    scale = (target[_LEG[0] - 1] + target[_LEG[1] - 1]) / own_leg
    placed = [joints[:, :, 0] * scale.unsqueeze(1)]
    for joint in range(1, len(PARENTS)):
        parent = PARENTS[joint]
        placed.append(placed[parent] + target[joint - 1] * unit(joints[:, :, joint] - joints[:, :, parent]))
    return torch.stack(placed, dim=2)


def facing(joints: Tensor) -> Tensor:
    """The angle by which a body is turned away from +z, from its hips and shoulders. (..., 22, 3) -> (...)"""
    hips = joints[..., RIGHT_HIP, :] - joints[..., LEFT_HIP, :]
    shoulders = joints[..., RIGHT_SHOULDER, :] - joints[..., LEFT_SHOULDER, :]
    x, _, z = (hips + shoulders).unbind(-1)
    return torch.atan2(z, -x)  # up x across = (z, 0, -x)


def placed(joints: Tensor, lengths: Tensor | None = None) -> Tensor:
    """Clips (B, F, 22, 3) with their lowest point at height 0 and a first frame at the origin that faces +z."""
    mine = valid_frames(lengths, joints.shape[1], joints)[..., None]
    heights = joints[..., 1].masked_fill(~mine, torch.inf)
    floor = heights.amin(dim=(1, 2))  # (B,)
    origin = torch.stack([joints[:, 0, 0, 0], floor, joints[:, 0, 0, 2]], dim=-1)  # (B, 3)
    return turned_about_y(joints - origin[:, None, None], -facing(joints[:, 0])[:, None, None])
