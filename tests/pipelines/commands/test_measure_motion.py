"""`g2d2 measure --signal motion`: a clip or a drawn path in, its key points with their frames out."""

import json

import numpy as np
import pytest
from PIL import Image

from operators import build_operator
from operators.skeleton import features_from_joints
from tests.operators.skeleton.clips import walker
from tests.pipelines.sweep_cases import run


def measure(out, *words):
    return run("measure", "--signal", "motion", "--out", out, *words)


@pytest.fixture
def walk(tmp_path):
    features = features_from_joints(walker(61, turn=0.02)[None])[0]
    np.save(tmp_path / "walk.npy", features.numpy())
    return features


def stored(out, name):
    row = json.loads((out / f"{name}-measurement.json").read_text())
    y = np.load(out / f"{name}-measurement.npy")
    assert list(y.shape) == row["y_shape"]
    assert y.dtype == np.float32
    assert Image.open(out / f"{name}-measurement.png").width > 100
    return row, y


def test_a_clip_is_seen_at_its_key_frames(walk, tmp_path, capsys):
    out = tmp_path / "m"
    words = ("--task", "path-2", "--set", "joints=[pelvis, left_wrist]")
    assert measure(out, tmp_path / "walk.npy", *words) == 0
    assert "walk-measurement.npy  path  2x2x3 of 60 frames  sigma 0" in capsys.readouterr().out
    row, y = stored(out, "walk")
    assert (row["signal"], row["operator"], row["x_shape"]) == ("motion", "path", [60, 263])
    assert row["prompt"] == ""
    assert len(row["params"]["frames"]) == 2
    operator = build_operator(row["operator"], row["params"], x_shape=row["x_shape"])  # the row alone says what y is
    assert np.allclose(operator(walk[None])[0].numpy(), y, atol=2e-3)
    assert measure(tmp_path / "again", tmp_path / "walk.npy", *words) == 0
    assert np.array_equal(stored(tmp_path / "again", "walk")[1], y)


def test_noise_is_in_metres_and_follows_from_the_seed(walk, tmp_path):
    words = (tmp_path / "walk.npy", "--set", "frames=[0, 20, 40]")
    assert measure(tmp_path / "exact", *words) == 0
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        assert measure(tmp_path / name, *words, "--sigma", "0.05", "--seed", seed) == 0
    exact, *noisy = (stored(tmp_path / name, "walk")[1] for name in ("exact", "a", "b", "c"))
    assert np.array_equal(noisy[0], noisy[1])
    assert not np.array_equal(noisy[0], noisy[2])
    assert 0.01 < np.abs(noisy[0] - exact).mean() < 0.15


def test_a_drawn_path_is_its_own_measurement(tmp_path):
    (tmp_path / "mine.csv").write_text("x,z\n0,0\n0,3\n")
    out = tmp_path / "m"
    words = ("--path", "circle", tmp_path / "mine.csv", "--frames", "100", "--prompt", "a person walks")
    assert measure(out, *words) == 0
    row, y = stored(out, "circle")
    assert row["prompt"] == "a person walks"
    assert y.shape == (20, 1, 2)
    assert (row["params"]["frames"][0], row["params"]["frames"][-1]) == (0, 99)
    row, y = stored(out, "mine")
    assert np.allclose(y[:, 0, 0], 0, atol=1e-6)
    assert np.allclose(y[:, 0, 1], 3 * np.array(row["params"]["frames"]) / 99, atol=1e-5)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--signal", "motion"), "give at least one picture; of motions, a clip or --path"),
        (("--signal", "motion", "--path", "cirle"), "path: 'cirle' is unknown (did you mean 'circle'?)"),
        (("--signal", "motion", "--path", "circle", "--task", "sr4-32"), "task: 'sr4-32' is none of motions"),
        (("--signal", "motion", "--path", "circle", "--set", "keyframes=500"), "keyframes is 500: the clip has 196"),
        (("--signal", "motion", "--path", "circle", "--set", "frames=[196]"), "the clip ends with frame 195"),
        (("--signal", "motion", "clip.txt"), "a clip is a .bvh or .npy file"),
        (("--signal", "motion", "short.npy"), "it is too short with 10 frames"),
        (("--path", "circle", "--operator", "identity"), "path: it says nothing about images; leave it out, or give"),
        (("photo.png", "--task", "sr4-32", "--fps", "30"), "fps: it says nothing about images; leave it out, or give"),
        (("--signal", "motion", "--path", "circle", "--fps", "30"), "fps: paths have none; leave it out"),
        (("--signal", "motion", "short.npy", "--frames", "60"), "frames: clips have their own; leave it out"),
        (("--signal", "motion", "--path", "circle", "--resize"), "resize: it says nothing about motions; leave it out"),
        (("--signal", "motion", "--path", "circle", "--set", "axes=xy"), "path: axes is 'xy'"),
        (("--signal", "motion", "--path", "circle", "--set", "axes=xyz"), "axes: xyz asks for heights, and this path"),
        (("photo.png", "--task", "sr4-32", "--prompt", "a dog"), "prompt: what is stored of pictures has none"),
        (("photo.png",), "one of --operator and --task is required"),
    ],
)
def test_what_cannot_be_measured_is_one_sentence(words, sentence, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("short.npy", features_from_joints(walker(11)[None])[0].numpy())
    assert run("measure", "--out", "out", *words) == 2
    message = capsys.readouterr().err.strip()
    assert sentence in message
    assert "\n" not in message


def test_a_bad_clip_costs_no_other(walk, tmp_path, capsys):
    np.save(tmp_path / "wrong.npy", np.zeros((60, 66)))
    assert measure(tmp_path / "m", tmp_path / "wrong.npy", tmp_path / "walk.npy") == 1
    assert "it has shape (60, 66)" in capsys.readouterr().err
    stored(tmp_path / "m", "walk")
