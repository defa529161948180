"""Clips for tests: a walker made from formulas, and the published clip where it is at hand."""

import math
import os
from pathlib import Path

import numpy as np
import pytest
import torch

ROOT = Path(__file__).parents[3]
MOTION = Path(os.environ.get("G2D2_MOTION_SAMPLES", ROOT.parent / "shared" / "motion"))

REST = [  # metres, standing, facing +z; x is to the body's left
    (0, 0.94, 0), (0.09, 0.86, 0), (-0.09, 0.86, 0), (0, 1.06, 0), (0.1, 0.48, 0.01), (-0.1, 0.48, 0.01),
    (0, 1.2, 0), (0.1, 0.07, -0.03), (-0.1, 0.07, -0.03), (0, 1.26, 0.01), (0.1, 0.02, 0.1), (-0.1, 0.02, 0.1),
    (0, 1.46, 0), (0.08, 1.38, 0), (-0.08, 1.38, 0), (0, 1.58, 0.05), (0.19, 1.4, 0), (-0.19, 1.4, 0),
    (0.24, 1.15, -0.02), (-0.24, 1.15, -0.02), (0.26, 0.9, 0.03), (-0.26, 0.9, 0.03),
]  # fmt: skip


def walker(frames, speed=0.05, turn=0.0, start=0.0, dtype=torch.float32):
    """Joints (frames, 22, 3) of a body that walks `speed` metres and turns `turn` radians a frame, limbs swinging."""
    rest = torch.tensor(REST, dtype=torch.float64)
    clip, place, angle = [], torch.zeros(3, dtype=torch.float64), start
    for frame in range(frames):
        swing = 0.2 * math.sin(0.4 * frame)
        body = rest.clone()
        for side, joints in ((1, (4, 7, 10, 19, 21)), (-1, (5, 8, 11, 18, 20))):
            body[list(joints), 2] += side * swing * (1.4 - rest[list(joints), 1])
        c, s = math.cos(angle), math.sin(angle)
        turned = torch.stack([c * body[:, 0] + s * body[:, 2], body[:, 1], c * body[:, 2] - s * body[:, 0]], dim=-1)
        clip.append(turned + place)
        place = place + speed * torch.tensor([s, 0.0, c], dtype=torch.float64)
        angle += turn
    return torch.stack(clip).to(dtype)


def published(name):
    """A published array as float64, or a skipped test."""
    path = MOTION / "humanml3d" / name
    if not path.exists():
        pytest.skip("the published clip is not at hand")
    return torch.from_numpy(np.load(path)).double()
