"""Where training clips stand: one bad frame lifts nobody, and who climbs is left out."""

import pytest
import torch

from g2d2.training.masked_motion.captured_clips import Clip
from g2d2.training.masked_motion.level_floors import RESTING, lowered, on_floor, on_level_floors, resting_toes
from operators.skeleton import features_from_joints, joints_from_features
from tests.operators.skeleton.clips import walker

LEFT, RIGHT = 10, 11


def stored(joints: torch.Tensor, name: str = "a") -> Clip:
    return Clip(name, 1, ("walk",), ("walk",), features_from_joints(joints[None])[0].half())


def standing(frames: int = 80) -> torch.Tensor:
    """A body that stands still, so that both toes rest at one height in all frames."""
    return walker(1).expand(frames, -1, -1).clone()


def toe_heights(clip: Clip) -> torch.Tensor:
    return joints_from_features(clip.features.float()[None])[0][:, [LEFT, RIGHT], 1]


def test_one_bad_frame_lifts_nobody() -> None:
    joints = standing()
    joints[40, 20, 1] = joints[:, :, 1].min() - 0.3  # a marker of a wrist that was lost
    clip = stored(joints)
    assert toe_heights(clip)[0].min() > 0.25
    (level,) = on_level_floors([clip])
    assert on_floor([clip]) < 0.05
    assert on_floor([level]) == 1
    assert on_floor([level, clip]) == pytest.approx((1 + on_floor([clip])) / 2)
    assert toe_heights(level)[[0, -1]].flatten().tolist() == pytest.approx([RESTING] * 4, abs=2e-3)
    moved = (level.features - clip.features).float()
    heights = [3, *range(5, 67, 3)]
    others = [feature for feature in range(263) if feature not in heights]
    assert not moved[:, others].any()
    assert torch.allclose(moved[:, heights], moved[0, 3].expand(79, 22), atol=2e-3)


def test_who_stands_on_the_floor_stays_as_he_is() -> None:
    clip = stored(standing())
    assert resting_toes(clip.features.float()).max() <= RESTING
    (level,) = on_level_floors([clip])
    assert torch.equal(level.features, clip.features)


def test_who_climbs_is_left_out_and_who_jumps_once_is_not() -> None:
    stairs, jump = standing(), standing(180)
    for step in range(4):
        stairs[20 * step :, :, 1] += 0.1
    jump[30:50, :, 1] += 0.5 * torch.linspace(0, torch.pi, 20).sin()[:, None]
    kept = on_level_floors([stored(stairs, "stairs"), stored(jump, "jump")])
    assert [clip.name for clip in kept] == ["jump"]


def test_where_no_toe_rests_nothing_is_known() -> None:
    joints = standing()
    joints[..., 2] += 0.2 * torch.arange(80)[:, None]
    clip = stored(joints)
    clip.features[:, 259:] = 0
    (level,) = on_level_floors([clip])
    assert level is clip


def test_lowering_moves_every_joint_alike() -> None:
    features = features_from_joints(walker(50, turn=0.02)[None])
    before, after = (joints_from_features(some) for some in (features, lowered(features, 0.1)))
    assert torch.allclose(before - after, torch.tensor([0.0, 0.1, 0.0]).expand_as(before), atol=1e-5)
