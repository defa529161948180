"""Features from joints and back, against a published clip and by what must hold for any clip."""

import math

import pytest
import torch
from torch.nn.utils.rnn import pad_sequence

from operators import InputError
from operators.skeleton import (
    MotionNormalisation,
    features_from_joints,
    joints_from_features,
    on_reference_body,
    placed,
)
from operators.skeleton.joint_names import CONTACTS, PARENTS, POSITIONS, ROTATIONS, VELOCITIES
from operators.skeleton.placing import REFERENCE_BONES, facing
from operators.skeleton.quaternions import between, turned_about_y, two_columns
from tests.operators.skeleton.clips import published, walker

LENGTHS = (120, 73, 31, 2)


def clips():
    return [walker(length, 0.04 + 0.01 * row, 0.03 * (row - 1), row) for row, length in enumerate(LENGTHS)]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_features_of_the_published_clip(dtype):
    """The clip's features know one frame more than its joints do: it follows from the last velocities."""
    joints, features = published("012314-joints.npy"), published("012314-features.npy")
    yaw = -2 * features[:-1, 0].sum()
    last = joints[-1] + turned_about_y(features[-1, VELOCITIES].view(22, 3), yaw)
    found = features_from_joints(torch.cat([joints, last[None]])[None].to(dtype))[0]
    assert found.shape == features.shape
    assert (found - features).abs().max() < 1e-4
    assert torch.equal(found[:, CONTACTS].double(), features[:, CONTACTS])


def test_joints_of_the_published_clip():
    joints, features = published("012314-joints.npy"), published("012314-features.npy")
    assert (joints_from_features(features[None])[0] - joints).abs().max() < 3e-7


def test_the_reference_body_is_that_of_the_published_clip():
    joints = published("012314-joints.npy")[None]
    assert (on_reference_body(joints) - joints).abs().max() < 1e-3


@pytest.mark.parametrize("turn", [0.0, 0.1, -0.25])
def test_there_and_back(turn):
    """Several full turns among them: an angle that passes half a turn goes on."""
    joints = walker(90, 0.05, turn, start=2.0, dtype=torch.float64)[None]
    back = joints_from_features(features_from_joints(joints))
    assert (back - placed(joints)[:, :-1]).abs().max() < 1e-10


def test_features_do_not_depend_on_where_a_clip_was_recorded():
    joints = walker(60, 0.05, 0.05, dtype=torch.float64)[None]
    moved = turned_about_y(joints, torch.tensor(2.5, dtype=torch.float64)) + torch.tensor([3.0, -1.0, 7.0])
    assert (features_from_joints(moved) - features_from_joints(joints)).abs().max() < 1e-9


def test_a_padded_row_is_the_same_as_alone_to_the_last_bit():
    rows = clips()
    lengths = torch.tensor(LENGTHS)
    features = features_from_joints(pad_sequence(rows, batch_first=True), lengths)
    joints = joints_from_features(features, lengths - 1)
    for row, (clip, length) in enumerate(zip(rows, LENGTHS, strict=True)):
        alone = features_from_joints(clip[None])
        assert torch.equal(features[row, : length - 1], alone[0])
        assert torch.equal(joints[row, : length - 1], joints_from_features(alone)[0])
        assert not features[row, length - 1 :].any()
        assert not joints[row, length - 1 :].any()


def test_what_stands_in_the_padding_decides_nothing():
    rows, lengths = pad_sequence(clips(), batch_first=True), torch.tensor(LENGTHS)
    own = torch.arange(rows.shape[1]) < lengths[:, None]
    dirty = torch.where(own[..., None, None], rows, torch.nan)
    assert torch.equal(features_from_joints(dirty, lengths), features_from_joints(rows, lengths))


def test_recovery_is_differentiable():
    features = features_from_joints(walker(8, 0.05, 0.1, dtype=torch.float64)[None]).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: joints_from_features(x, joints=(0, 15, 21)), (features,))


def test_chosen_joints_are_those_of_all():
    features = features_from_joints(walker(20, 0.05, 0.1)[None])
    assert torch.equal(joints_from_features(features, joints=(0, 7)), joints_from_features(features)[:, :, [0, 7]])


def test_recovery_runs_on_another_device():
    joints = joints_from_features(torch.zeros(2, 9, 263, device="meta"), torch.zeros(2, device="meta"))
    assert joints.shape == (2, 9, 22, 3)


def test_a_standing_body():
    """Nothing moves: no speed, four contacts, joints where they stand, and rotations that are rotations."""
    joints = walker(1, dtype=torch.float64).expand(5, -1, -1)[None]
    features = features_from_joints(joints)[0]
    assert features[:, :3].abs().max() < 1e-12
    assert not features[:, VELOCITIES].any()
    assert (features[:, CONTACTS] == 1).all()
    assert (features[:, POSITIONS].view(4, 21, 3) - placed(joints)[0, :-1, 1:]).abs().max() < 1e-12
    columns = features[:, ROTATIONS].view(4, 21, 2, 3)
    assert torch.allclose(columns.square().sum(-1), torch.ones(4, 21, 2, dtype=torch.float64))
    assert (columns[..., 0, :] * columns[..., 1, :]).sum(-1).abs().max() < 1e-12


def test_placed_clips_stand_at_the_origin_on_the_floor_and_face_z():
    joints = placed(walker(40, 0.05, 0.1, start=1.0, dtype=torch.float64)[None] + 5)
    assert joints[0, :, :, 1].min() == 0
    assert joints[0, 0, 0, 0::2].abs().max() < 1e-12
    assert abs(float(facing(joints[0, 0]))) < 1e-12


def test_a_reference_body_keeps_directions_and_scales_the_path():
    joints = walker(30, 0.05, 0.1, dtype=torch.float64)[None]
    body = on_reference_body(1.2 * joints)
    bones = (body[:, :, 1:] - body[:, :, list(PARENTS[1:])]).norm(dim=-1)
    assert (bones - torch.tensor(REFERENCE_BONES, dtype=torch.float64)).abs().max() < 1e-12
    assert (body - on_reference_body(joints)).abs().max() < 1e-12


def test_opposite_directions_have_a_turn_between_them():
    up = torch.tensor([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    columns = two_columns(between(up, -up)).view(2, 2, 3)
    assert torch.allclose(columns[0, 1], -up[0])
    assert torch.allclose(columns[1, 0], -up[1])


def test_yaw_speed_is_half_the_angle_per_frame():
    features = features_from_joints(walker(400, 0.0, 0.02, dtype=torch.float64)[None])[0]
    # across the smoothing, in the middle of a steady turn; a turn to the left is negative here, as published
    assert torch.allclose(features[150:250, 0], torch.tensor(-0.01, dtype=torch.float64), atol=1e-9)
    assert math.isclose(float(-2 * features[150:250, 0].sum()), 2.0, abs_tol=1e-6)


def test_a_normalisation_there_and_back():
    features = features_from_joints(walker(60, 0.05, 0.1)[None])[0]
    norm = MotionNormalisation.from_clips([features[:30], features[30:]])
    assert torch.allclose(norm.mean, features.double().mean(0).float())
    z = norm.normalise(features)
    assert (norm.restore(z) - features).abs().max() < 1e-5
    assert z.std(0, correction=0).max() < 1.001
    assert norm.to(dtype=torch.float64).mean.dtype == torch.float64
    assert set(norm.tensors()) == {"mean", "std"}


@pytest.mark.parametrize(
    ("mean", "std", "word"),
    [
        (torch.zeros(66), torch.ones(263), r"mean has shape \(66,\): it must be \(263,\)"),
        (torch.full((263,), torch.nan), torch.ones(263), "mean has NaN"),
        (torch.zeros(263), torch.zeros(263), "std is 0 somewhere"),
    ],
)
def test_a_bad_normalisation_is_refused(mean, std, word):
    with pytest.raises(InputError, match=word):
        MotionNormalisation(mean, std)
