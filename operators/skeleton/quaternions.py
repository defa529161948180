"""Unit quaternions (..., 4) as (w, x, y, z), in element-wise steps only: a row's bits do not depend on its batch."""

import torch
from torch import Tensor

_OPPOSITE = 1e-7
"""1 + cosine below which two directions count as opposite, and any axis across them will do."""


def cross(a: Tensor, b: Tensor) -> Tensor:
    """The cross product of vectors (..., 3)."""
    ax, ay, az = a.unbind(-1)
    bx, by, bz = b.unbind(-1)
    return torch.stack([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx], dim=-1)


def length(vectors: Tensor) -> Tensor:
    """Euclidean length over the last axis, which stays. (..., 1)"""
    squares: Tensor = sum(part * part for part in vectors.unbind(-1))  # type: ignore[assignment]
    return squares.sqrt().unsqueeze(-1)


def unit(vectors: Tensor) -> Tensor:
    """Vectors of length 1; a zero vector stays zero."""
    size = length(vectors)
    return vectors / torch.where(size > 0, size, 1)


def multiply(p: Tensor, q: Tensor) -> Tensor:
    """The Hamilton product: first q, then p."""
    pw, px, py, pz = p.unbind(-1)
    qw, qx, qy, qz = q.unbind(-1)
    return torch.stack(
        [
            pw * qw - px * qx - py * qy - pz * qz,
            pw * qx + px * qw + py * qz - pz * qy,
            pw * qy - px * qz + py * qw + pz * qx,
            pw * qz + px * qy - py * qx + pz * qw,
        ],
        dim=-1,
    )


def inverse(q: Tensor) -> Tensor:
    """The turn back."""
    return torch.cat([q[..., :1], -q[..., 1:]], dim=-1)


def between(u: Tensor, v: Tensor) -> Tensor:
    """The shortest turn from unit vectors u to v. (..., 4)"""
    cosine: Tensor = sum((u * v).unbind(-1))  # type: ignore[assignment]
    opposite = (1 + cosine < _OPPOSITE).unsqueeze(-1)
    half_turn = torch.cat([torch.zeros_like(u[..., :1]), _across(u)], dim=-1)
    turn = torch.cat([(1 + cosine).unsqueeze(-1), cross(u, v)], dim=-1)
    return unit(torch.where(opposite, half_turn, turn))


def two_columns(q: Tensor) -> Tensor:
    """The first two columns of the rotation matrix, one after the other. (..., 6)"""
    w, x, y, z = q.unbind(-1)
    first = [1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)]
    second = [2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x)]
    return torch.stack([*first, *second], dim=-1)


def turned_about_y(points: Tensor, yaw: Tensor) -> Tensor:
    """Points (..., 3) turned by `yaw` about the vertical; yaw has the shape of their leading axes or broadcasts."""
    x, y, z = points.unbind(-1)
    cosine, sine = yaw.cos(), yaw.sin()
    turned_x = cosine * x + sine * z
    return torch.stack([turned_x, y.expand_as(turned_x), cosine * z - sine * x], dim=-1)


def _across(u: Tensor) -> Tensor:
    """Any direction at right angles to u."""
    x_axis, y_axis = (torch.tensor(axis, dtype=u.dtype, device=u.device) for axis in ((1.0, 0, 0), (0, 1.0, 0)))
    return cross(u, torch.where(u[..., :1].abs() < 0.9, x_axis, y_axis))
