"""Errors of feet in metres and metres per second, on motions that are wrong by known amounts."""

import pytest
import torch

from g2d2.training.masked_motion.motion_errors import foot_height_errors, resting_speed_errors
from operators.skeleton import features_from_joints
from tests.operators.skeleton.clips import walker


def standing(frames: int = 41) -> torch.Tensor:
    return features_from_joints(walker(1).expand(frames, -1, -1).clone()[None])


def test_feet_in_the_air_are_off_by_their_height() -> None:
    truth, made = standing(), standing()
    made[..., [4 + 3 * (joint - 1) + 1 for joint in (7, 10)]] += 0.08  # one foot of two
    made[..., 5] += 9.0  # another joint
    assert foot_height_errors(made, truth).tolist() == pytest.approx([0.04])


def test_resting_feet_that_are_carried_along_slide() -> None:
    """The root glides at 0.6 m/s, and seen from it nothing moves."""
    truth, made = standing(), standing()
    made[..., 2] += 0.03
    assert resting_speed_errors(made, truth).tolist() == pytest.approx([0.6])
    assert resting_speed_errors(truth, truth).tolist() == [0.0]


def test_only_feet_that_truly_rest_count() -> None:
    truth, made = standing(), standing()
    made[..., 2] += 0.03
    truth[:, :20, 259:] = 0
    made[:, :20, 2] += 5.0
    assert resting_speed_errors(made, truth).tolist() == pytest.approx([0.6], rel=1e-4)
    truth[..., 259:] = 0
    assert resting_speed_errors(made, truth).tolist() == [0.0]


def test_both_have_gradients() -> None:
    truth = features_from_joints(walker(41)[None])
    made = (truth + 0.01 * torch.randn(truth.shape, generator=torch.Generator().manual_seed(0))).requires_grad_()
    (foot_height_errors(made, truth) + resting_speed_errors(made, truth)).sum().backward()
    assert torch.isfinite(made.grad).all()
    assert made.grad[..., 2].any()
    assert made.grad[..., 4 + 3 * 9 + 1].any()
