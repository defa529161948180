"""BVH files: positions by formula, the samples of a public database against its own joints, and damaged ones."""

import math

import numpy as np
import pytest

from operators import InputError
from operators.skeleton.body_names import BODIES, body_map
from operators.skeleton.bvh import read_bvh
from operators.skeleton.clip_features import clip_features
from operators.skeleton.joint_names import JOINTS, PARENTS
from operators.skeleton.resampling import at_20_fps
from tests.operators.skeleton.clips import MOTION, REST

ARM = """HIERARCHY
ROOT Hips
{
  OFFSET 0 1 0
  CHANNELS 6 Xposition Yposition Zposition Zrotation Yrotation Xrotation
  JOINT Arm
  {
    OFFSET 2 0 0
    CHANNELS 3 Zrotation Yrotation Xrotation
    End Site
    {
      OFFSET 1 0 0
    }
  }
}
MOTION
Frames: 2
Frame Time: 0.05
0 0 0 0 0 0 0 0 0
5 0 0 90 0 0 10.5 0 0
"""


def bvh(names=JOINTS, parents=PARENTS, places=REST, frames=45, frame_time="0.0166667", step=0.02):
    """A file of a body that walks along z without bending anything."""
    lines = ["HIERARCHY"]

    def joint(number, depth):
        above = np.zeros(3) if number == 0 else np.array(places[parents[number]])
        offset = np.array(places[number]) - above
        lines.append(f"{'ROOT' if number == 0 else 'JOINT'} {names[number]}")
        lines.append("{")
        lines.append(f"OFFSET {' '.join(map(str, offset))}")
        lines.append("CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation" if number == 0
                     else "CHANNELS 3 Zrotation Xrotation Yrotation")  # fmt: skip
        for child in [one for one in range(len(names)) if parents[one] == number]:
            joint(child, depth + 1)
        lines.append("}")

    joint(0, 0)
    lines += ["MOTION", f"Frames: {frames}", *([f"Frame Time: {frame_time}"] if frame_time else [])]
    for frame in range(frames):
        lines.append(" ".join(map(str, [0, 0, step * frame, *([0.5 * (frame > 0)] * 3), *[0] * 3 * (len(names) - 1)])))
    return "\n".join(lines) + "\n"


def test_positions_are_those_of_the_formula():
    places = read_bvh(ARM, "arm").positions()
    assert np.allclose(places[0], [[0, 1, 0], [2, 1, 0]])
    assert np.allclose(places[1], [[5, 1, 0], [5, 3, 0]])


def test_rotations_follow_the_order_of_the_channels():
    text = ARM.replace("5 0 0 90 0 0 10.5 0 0", "0 0 0 90 90 0 0 0 0")
    # first about z, then about the turned y: the arm points along the turned x, which is -z
    assert np.allclose(read_bvh(text, "arm").positions()[1, 1], [0, 1, -2])


def test_a_pose_before_the_clip_is_left_out():
    file = read_bvh(ARM, "arm")
    assert len(file.without_rest_pose().values) == 1
    assert len(read_bvh(ARM.replace("10.5", "10"), "arm").without_rest_pose().values) == 2


@pytest.mark.parametrize("clip", ["08_06", "35_01"])
def test_samples_give_the_joints_that_the_database_gave(clip):
    path, table = MOTION / "bvh" / f"{clip}.bvh", MOTION / "cmu-joints.parquet"
    if not (path.exists() and table.exists()):
        pytest.skip("the samples are not at hand")
    import pyarrow.parquet as pq

    rows = pq.read_table(table, columns=["clip", "joints"], filters=[("clip", "=", clip)]).to_pylist()
    steps = np.frombuffer(rows[0]["joints"], "<i2").reshape(-1, 22, 3)
    expected = np.cumsum(steps, axis=0, dtype=np.int16) / 2000
    file = read_bvh(path.read_text(), clip).without_rest_pose()
    joints = at_20_fps(file.body(clip) * 0.056444, 1 / file.frame_time, clip)
    shift = (expected[0, 0] - joints[0, 0]) * [1, 0, 1]
    assert joints.shape == expected.shape
    assert np.abs(joints + shift - expected).max() < 5e-4


def test_a_body_of_other_names_gives_the_same_features():
    """Twice the size, too: all clips are put on one body."""
    mixamo = {ours: parts[0][0] for ours, parts in BODIES["Mixamo"].items()}
    renamed = bvh([mixamo[name] for name in JOINTS], places=2 * np.array(REST), step=0.04)
    plain = clip_features(read_bvh(bvh(), "a").body("a"), "a")
    assert (clip_features(read_bvh(renamed, "b").body("b"), "b") - plain).abs().max() < 1e-5


def test_every_known_body_has_all_joints_with_weights_of_one():
    for mapping in BODIES.values():
        assert set(mapping) == set(JOINTS)
        assert all(math.isclose(sum(weight for _, weight in parts), 1) for parts in mapping.values())


def test_other_skeletons_are_refused():
    with pytest.raises(InputError, match=r"dog: its skeleton is none of CMU, .*, of which it lacks"):
        body_map(["Root", "Tail", "Paw1"], "dog")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("no motion", "it is no BVH file"),
        (ARM.replace("10.5 0 0", "10.5 0"), "17 values, and 2 frames of 9 channels have 18"),
        (ARM.replace("10.5", "nan"), "1 of its 2 frames have NaN"),
        (ARM.replace("10.5", "ten"), "is not a number"),
        (ARM.replace("Frames: 2", "Frames: two"), "'Frames: two' holds no number"),
        (ARM.replace("Frames: 2\n", ""), "does not say how many frames"),
        (ARM.replace("Xposition", "Wposition"), "its HIERARCHY cannot be read"),
        (ARM.replace("OFFSET 2 0 0", "OFFSET 2 a 0"), "its HIERARCHY cannot be read"),
    ],
)
def test_damaged_files_are_one_sentence(text, sentence):
    with pytest.raises(InputError, match=f"^clip x: .*{sentence}"):
        read_bvh(text, "clip x")


def test_frame_rates():
    walk = np.arange(61.0)[:, None, None] * np.ones((1, 22, 3))
    assert at_20_fps(walk, 60.0, "x")[:, 0, 0].tolist() == list(range(0, 61, 3))
    assert at_20_fps(walk, 119.9988, "x")[:, 0, 0].tolist() == list(range(0, 61, 6))
    assert np.allclose(at_20_fps(walk, 30.0, "x")[:, 0, 0], np.arange(0, 60.1, 1.5))
    assert np.allclose(at_20_fps(walk, 10.0, "x")[:, 0, 0], np.arange(0, 60.1, 0.5))


@pytest.mark.parametrize(("fps", "sentence"), [(None, "not known; give it with --fps"), (2.0, "from 5 to 1000")])
def test_frame_rates_that_do_not_say(fps, sentence):
    assert read_bvh(ARM.replace("0.05", "0"), "x").frame_time is None
    assert read_bvh(ARM.replace("Frame Time: 0.05\n", ""), "x").frame_time is None
    with pytest.raises(InputError, match=sentence):
        at_20_fps(np.zeros((9, 22, 3)), fps, "x")


@pytest.mark.parametrize(
    ("array", "sentence"),
    [
        (np.zeros((60, 24, 3)), r"shape \(60, 24, 3\): a clip is \(frames, 263\) features or \(frames, 22, 3\) joints"),
        (np.zeros((60, 251)), r"shape \(60, 251\)"),
        (np.zeros((60, 263), dtype=np.int64), "it holds int64"),
        (np.full((60, 263), np.nan), "60 of its 60 frames have NaN or infinite values, frame 0 the first"),
        (np.zeros((60, 22, 3)), "its first frame is no body"),
        (np.ones((1, 22, 3)) * np.arange(22)[:, None], "velocities need at least 2"),
    ],
)
def test_arrays_that_are_no_clip(array, sentence):
    with pytest.raises(InputError, match=f"clip x: .*{sentence}"):
        clip_features(array, "clip x")
