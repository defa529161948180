"""Joints to the 263 features of HumanML3D (Guo et al., CVPR 2022) and back, for batches of clips of any length.

Frames beyond a clip's own length are zero in every result and decide nothing.
"""

import itertools
import math
from collections.abc import Sequence

import torch
from torch import Tensor

from operators.skeleton.joint_names import CHAINS, FEET, JOINTS, POSITIONS
from operators.skeleton.placing import (
    LEFT_HIP,
    LEFT_SHOULDER,
    RIGHT_HIP,
    RIGHT_SHOULDER,
    placed,
    valid_frames,
)
from operators.skeleton.quaternions import between, inverse, multiply, turned_about_y, two_columns, unit

CONTACT_SPEED = 0.002
"""Square of the metres per frame below which an ankle or a toe rests."""
SMOOTHING = 20.0
"""Standard deviation in frames of the Gaussian that smooths the facing direction; it ends at four of them."""

_REST = torch.tensor(
    [
        (0, 0, 0), (1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, -1, 0), (0, 1, 0), (0, -1, 0), (0, -1, 0),
        (0, 1, 0), (0, 0, 1), (0, 0, 1), (0, 1, 0), (1, 0, 0), (-1, 0, 0), (0, 0, 1), (0, -1, 0), (0, -1, 0),
        (0, -1, 0), (0, -1, 0), (0, -1, 0), (0, -1, 0),
    ],
    dtype=torch.float64,
)  # fmt: skip
"""Direction of each joint from its parent where no bone is turned."""


def features_from_joints(joints: Tensor, lengths: Tensor | None = None) -> Tensor:
    """Features (B, F - 1, 263) of clips (B, F, 22, 3) in metres with y up; the last frame only gives velocities.

    Clips are put on the floor, at the origin and facing +z first; `lengths` (B,) count frames of joints.
    """
    joints = placed(joints, lengths)
    yaw = smoothed_yaw(joints, lengths)  # (B, F)
    now, turn = joints[:, :-1], yaw[:, :-1, None]
    steps = joints[:, 1:] - now
    root_steps = turned_about_y(steps[:, :, 0], -yaw[:, 1:])
    on_floor = now[:, :, :1] * now.new_tensor([1.0, 0.0, 1.0])
    parts = (
        _wrapped(yaw[:, :-1] - yaw[:, 1:]).unsqueeze(-1) / 2,
        root_steps[..., 0::2],
        now[:, :, 0, 1:2],
        turned_about_y(now[:, :, 1:] - on_floor, -turn).flatten(2),
        _local_rotations(now, yaw[:, :-1]).flatten(2),
        turned_about_y(steps, -turn).flatten(2),
        _contacts(steps),
    )
    features = torch.cat(parts, dim=-1)
    own = valid_frames(None if lengths is None else lengths - 1, features.shape[1], features)
    return torch.where(own[..., None], features, 0)


def joints_from_features(
    features: Tensor, lengths: Tensor | None = None, joints: Sequence[int] | None = None
) -> Tensor:
    """Positions (B, F, J, 3) in metres of all 22 joints, or of the chosen ones, from unnormalised features (B, F, 263).

    Differentiable and not linear: the root's turns and steps are summed up frame by frame.
    """
    chosen = range(len(JOINTS)) if joints is None else joints
    moved = torch.cat([torch.zeros_like(features[:, :1, :3]), features[:, :-1, :3]], dim=1)
    yaw = -2 * moved[..., 0].cumsum(dim=1)  # (B, F)
    still = torch.zeros_like(yaw)
    step = turned_about_y(torch.stack([moved[..., 1], still, moved[..., 2]], dim=-1), yaw)
    path = step.cumsum(dim=1)  # (B, F, 3), on the floor
    height = torch.stack([still, features[..., 3], still], dim=-1)
    around = features[..., POSITIONS].unflatten(-1, (-1, 3))  # (B, F, 21, 3)
    places = [
        path + (height if joint == 0 else turned_about_y(around[:, :, joint - 1], yaw)) for joint in chosen
    ]  # heights of joints other than the root are among their own features
    positions = torch.stack(places, dim=2)
    own = valid_frames(lengths, features.shape[1], features)
    return torch.where(own[..., None, None], positions, 0)


def smoothed_yaw(joints: Tensor, lengths: Tensor | None = None) -> Tensor:
    """The root's angle in each frame (B, F), and 0 in the first.

    As published, hips count against shoulders here, though not where a clip is placed: files of HumanML3D and priors
    that were trained on them have it so.
    """
    hips = joints[..., LEFT_HIP, :] - joints[..., RIGHT_HIP, :]
    shoulders = joints[..., RIGHT_SHOULDER, :] - joints[..., LEFT_SHOULDER, :]
    across = unit(hips + shoulders)
    forward = _smoothed(torch.stack([across[..., 2], -across[..., 0]], dim=-1), lengths)  # (B, F, 2): x, z
    yaw = torch.atan2(forward[..., 0], forward[..., 1])
    return torch.cat([torch.zeros_like(yaw[:, :1]), yaw[:, 1:]], dim=1)


def _smoothed(values: Tensor, lengths: Tensor | None) -> Tensor:
    """A Gaussian mean over frames (B, F, C); a clip's first and last frames go on beyond its ends."""
    rows, frames = values.shape[:2]
    last = torch.full((rows,), frames, device=values.device) if lengths is None else lengths
    radius = int(4 * SMOOTHING + 0.5)
    weights = [math.exp(-0.5 * (shift / SMOOTHING) ** 2) for shift in range(-radius, radius + 1)]
    total = sum(weights)
    steps = torch.arange(frames, device=values.device)
    row = torch.arange(rows, device=values.device)[:, None]
    result = torch.zeros_like(values)
    for shift, weight in zip(range(-radius, radius + 1), weights, strict=True):
        place = torch.minimum((steps + shift).clamp(min=0), last[:, None] - 1)  # (B, F)
        result = result + weight / total * values[row, place]
    return result


def _local_rotations(joints: Tensor, yaw: Tensor) -> Tensor:
    """Each bone's turn against the one before it in its chain; arms begin at the root's. (B, F, 21, 6)"""
    zero = torch.zeros_like(yaw)
    root = torch.stack([(yaw / 2).cos(), zero, (yaw / 2).sin(), zero], dim=-1)
    root = inverse(root)  # from the world to the root's frame, as published
    rest = _REST.to(joints)
    turns = {}
    for chain in CHAINS:
        before = root
        for parent, joint in itertools.pairwise(chain):
            direction = unit(joints[:, :, joint] - joints[:, :, parent])
            turn = between(rest[joint].expand_as(direction), direction)
            turns[joint] = two_columns(multiply(inverse(before), turn))
            before = turn
    return torch.stack([turns[joint] for joint in range(1, len(JOINTS))], dim=2)


def _contacts(steps: Tensor) -> Tensor:
    """1 where an ankle or a toe rests. (B, F - 1, 4)"""
    squares: Tensor = sum(part * part for part in steps[:, :, list(FEET)].unbind(-1))  # type: ignore[assignment]
    return (squares < CONTACT_SPEED).to(steps)


def _wrapped(angle: Tensor) -> Tensor:
    """An angle in [-pi, pi)."""
    return torch.remainder(angle + math.pi, 2 * math.pi) - math.pi
