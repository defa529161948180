"""Metrics of motions on sequences with known answers, and against small re-computations by another road."""

import numpy as np
import pytest
import torch
from scipy.ndimage import uniform_filter1d

from eval.metrics import Scored, build_metric, check_metrics, metric_info
from eval.metrics.foot_skating import sliding_steps
from operators import InputError, build_operator, find_signal, stack_operators
from operators.skeleton import features_from_joints, joints_from_features
from tests.operators.skeleton.clips import published, walker

PATH = ("path_error", "location_error_50cm", "trajectory_error_50cm")


def clip(frames=60, **walk):
    return features_from_joints(walker(frames + 1, dtype=torch.float64, **walk)[None])


def scored(x, y, operator, **more):
    return Scored(None, x, operator=operator, y=y, signal="motion", **more)


def errors(offsets, length=60):
    """The three path errors of a motion whose key frames are off by these metres along x."""
    x = clip(length)
    operator = build_operator("path", {"keyframes": len(offsets)}, x_shape=(length, 263))
    y = operator(x)
    y[0, :, 0, 0] += torch.tensor(offsets, dtype=torch.float64)
    return [float(build_metric(name)(scored(x, y, operator))) for name in PATH]


def test_a_path_off_by_exactly_60_centimetres():
    assert errors([0.6] * 5) == pytest.approx([0.6, 1.0, 1.0])


def test_a_path_off_by_exactly_50_centimetres_is_not_missed():
    x = torch.zeros(1, 30, 263, dtype=torch.float64)
    operator = build_operator("path", {"keyframes": 2}, x_shape=(30, 263))
    y = operator(x)
    y[..., 0] += 0.5
    assert [float(build_metric(name)(scored(x, y, operator))) for name in PATH] == [0.5, 0.0, 0.0]


def test_one_of_four_key_frames_is_missed():
    assert errors([0.0, 0.1, -0.9, 0.2]) == pytest.approx([0.3, 0.25, 1.0])


def test_a_path_that_is_met():
    assert errors([0.0, 0.0]) == pytest.approx([0.0, 0.0, 0.0])
    assert errors([0.1, 0.3]) == pytest.approx([0.2, 0.0, 0.0])


def test_padded_key_frames_and_lengths_do_not_count():
    motion = find_signal("motion")
    clips = [clip(60)[0], clip(40)[0]]
    operators = [build_operator("path", {"keyframes": count}, x_shape=tuple(x.shape))
                 for count, x in zip((4, 2), clips, strict=True)]  # fmt: skip
    ys = [operator(x[None])[0] for operator, x in zip(operators, clips, strict=True)]
    ys[1][..., 2] += 0.6
    batch = scored(motion.stack(clips), motion.stack(ys), stack_operators(operators))
    assert build_metric("path_error")(batch).tolist() == pytest.approx([0.0, 0.6])
    assert build_metric("location_error_50cm")(batch).tolist() == [0.0, 1.0]


def test_the_whole_path_counts_where_nothing_was_seen():
    """30 of 60 frames are 0.6 m to the side; their heights and poses do not matter, and a truth is needed."""
    truth, x = clip(60), clip(60)
    x[0, 29, 1] += 0.6  # a velocity moves every frame after it
    x[..., 4:] = 0
    metric = build_metric("whole_path_error")
    assert float(metric(Scored(truth, x, signal="motion"))) == pytest.approx(0.3)
    assert float(metric(Scored(truth, truth, signal="motion"))) == 0
    with pytest.raises(InputError, match="whole_path_error: truth must be given"):
        metric(Scored(None, x, signal="motion"))


def test_path_errors_need_a_path(monkeypatch):
    with pytest.raises(InputError, match="path_error: operator and y must be given"):
        build_metric("path_error")(Scored(None, clip(), signal="motion"))
    with pytest.raises(InputError, match="path_error: it scores motion, and x is image"):
        build_metric("path_error")(Scored(None, torch.zeros(1, 3, 8, 8), operator=build_operator("identity", {},
                                   x_shape=(3, 8, 8)), y=torch.zeros(1, 3, 8, 8)))  # fmt: skip
    with pytest.raises(InputError, match="these measurements are of image; leave it out"):
        check_metrics(["foot_skating"], signal="image", x_shape=(3, 32, 32))


def feet(frames=40, height=0.02, speed=0.0, sliding=slice(None)):
    """Joints that stand, with a left toe at this height that moves so fast (m/s) along z in some steps."""
    joints = torch.zeros(1, frames, 22, 3, dtype=torch.float64)
    joints[..., 1] = 1.0
    steps = torch.zeros(frames - 1, dtype=torch.float64)
    steps[sliding] = speed / 20
    joints[0, 1:, 10, 2] = steps.cumsum(0)
    joints[0, :, 10, 1] = height
    return joints


def test_a_sliding_foot():
    assert sliding_steps(feet(speed=1.0)).all()
    assert not sliding_steps(feet(speed=0.0)).any()
    assert not sliding_steps(feet(speed=0.49)).any()
    assert not sliding_steps(feet(height=0.06, speed=1.0)).any(), "it is in the air"


def test_ten_sliding_steps_of_39():
    """At both ends the mean of five steps includes resting ones: 3/5 of 1 m/s is above 0.5 m/s, so all ten count."""
    assert int(sliding_steps(feet(speed=1.0, sliding=slice(10, 20))).sum()) == 10
    # two fast steps alone: their mean over five is 0.4 m/s
    assert int(sliding_steps(feet(speed=1.0, sliding=slice(10, 12))).sum()) == 0


def test_both_normalisations():
    """A body that glides over the floor without lifting its feet slides in all its steps."""
    still = walker(1, dtype=torch.float64).expand(61, -1, -1).clone()
    still[..., 2] += 0.05 * torch.arange(61)[:, None]
    x = features_from_joints(still[None])
    batch = Scored(None, x, signal="motion")
    assert build_metric("foot_skating")(batch).tolist() == [1.0]
    assert build_metric("foot_skating_paper")(batch).tolist() == pytest.approx([59 / 195])


def standing(lift=0.0):
    """Features of a body that stands with its lowest toe on the floor, each frame lifted by these metres."""
    joints = walker(1, dtype=torch.float64).expand(41, -1, -1).clone()
    joints[..., 1] -= joints[:, [10, 11], 1].min()
    x = features_from_joints(joints[None])
    x[..., 3] += lift
    x[..., 5:67:3] += torch.as_tensor(lift).reshape(-1, 1)
    return Scored(None, x, signal="motion")


def test_who_floats_has_no_feet_on_the_floor():
    """Ten frames of 40 are in the air, and nobody slides: only one of the two metrics tells."""
    lift = torch.zeros(40, dtype=torch.float64)
    lift[10:20] = 0.08
    for metres, share in ((0.0, 1.0), (0.04, 1.0), (0.08, 0.0), (lift, 0.75)):
        assert float(build_metric("feet_on_floor")(standing(metres))) == pytest.approx(share)
        assert float(build_metric("foot_skating")(standing(metres))) == 0


def test_one_toe_on_the_floor_is_enough():
    x = standing().x
    x[..., 4 + 3 * 9 + 1] += 0.3  # the left one
    assert float(build_metric("feet_on_floor")(Scored(None, x, signal="motion"))) == 1
    x[..., 4 + 3 * 10 + 1] += 0.3
    assert float(build_metric("feet_on_floor")(Scored(None, x, signal="motion"))) == 0
    assert metric_info("feet_on_floor").direction == "none"


def by_scipy(joints):
    """The same count with other tools."""
    toes = joints[:, [10, 11]]
    speed = 20 * np.hypot(*np.moveaxis(np.diff(toes, axis=0)[..., [0, 2]], -1, 0))
    mean = uniform_filter1d(speed, 5, axis=0, mode="constant")
    low = (toes[1:, :, 1] < 0.05) & (toes[:-1, :, 1] < 0.05)
    return (low & (speed > 0.5) & (mean > 0.5)).any(axis=1)


def test_skating_agrees_with_another_computation():
    random = np.random.default_rng(0)
    for _ in range(5):
        joints = random.normal(size=(80, 22, 3)).cumsum(axis=0) * 0.02
        joints[..., 1] = random.uniform(0, 0.08, (80, 22))
        ours = sliding_steps(torch.from_numpy(joints)[None])[0].numpy()
        assert (ours == by_scipy(joints)).all()
        assert 0 < ours.sum() < 79


def test_skating_of_a_real_clip():
    """Captured feet slide a little by this measure too, whatever published tables say."""
    x = published("012314-features.npy")[None]
    expected = by_scipy(joints_from_features(x)[0].numpy())
    assert float(build_metric("foot_skating")(Scored(None, x, signal="motion"))) == pytest.approx(expected.mean())


@pytest.mark.parametrize("name", [*PATH, "foot_skating", "foot_skating_paper"])
def test_facts_and_bad_rows(name):
    info = metric_info(name)
    assert (info.direction, info.signals) == ("lower", ("motion",))
    assert "truth" not in info.needs
    x = torch.cat([clip(60), clip(60)])
    x[1, 5] = torch.nan
    operator = build_operator("path", {}, x_shape=(60, 263))
    values = build_metric(name)(scored(x, operator(x[:1]).expand(2, -1, -1, -1), operator))
    assert torch.isnan(values).tolist() == [False, True]
