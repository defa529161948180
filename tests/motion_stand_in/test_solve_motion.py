"""`g2d2 solve --signal motion`: a path by name, a drawn one, or a clip of which a few frames are seen."""

import json
import re

import numpy as np
import pytest
from PIL import Image

from operators.skeleton import features_from_joints
from tests.operators.skeleton.clips import walker
from tests.pipelines.sweep_cases import run

PRIOR = "tests.motion_stand_in.walking:Walking"
QUICK = ("--set", "steps=8", "iterations=15", "learning_rate=1.0", "eta_kl=0.001", "guidance=1", "lambda_kl=0")
QUICK = (*QUICK, "optimizer=adam", "final=argmax")


def solve(out, *words, prior=PRIOR):
    return run("solve", "--signal", "motion", "--prior", prior, "--out", out, *words)


def test_a_named_path_is_followed(tmp_path, capsys):
    out = tmp_path / "out"
    assert solve(out, "--prompt", "a person walks", "--path", "circle", "u-turn", "--json", *QUICK) == 0
    rows = {row["image"]: row for row in map(json.loads, capsys.readouterr().out.splitlines())}
    assert set(rows) == {"circle", "u-turn"}
    for name, row in rows.items():
        assert row["path_error"] < 0.5, "a body that stands is more than a metre off"
        assert np.load(out / f"{name}.npy").shape == (196, 263)
        assert np.load(out / f"{name}-measurement.npy").shape == (20, 1, 2)
        assert Image.open(out / f"{name}.gif").n_frames > 20
        assert Image.open(out / f"{name}.png").width == 768
        assert row["reconstruction"] == str(out / f"{name}.png")
    assert np.load(out / "circle-trace.npz")["likelihood"].shape == (8 * 15,)


def test_it_tells_the_numbers_and_solves_nothing_twice(tmp_path, capsys):
    words = (tmp_path / "out", "--path", "line", "--frames", "40", "--prompt", "walk", *QUICK)
    assert solve(*words) == 0
    out = capsys.readouterr().out
    assert "line.png  path error 0." in out
    assert re.search(r"foot skating [01]\.\d{3}  feet on floor [01]\.\d{3}  ", out)
    told = json.loads((tmp_path / "out" / "line.json").read_text())
    assert {"location_error_50cm", "trajectory_error_50cm", "foot_skating", "feet_on_floor"} <= set(told)
    assert solve(*words) == 0
    assert "1 of 1 are there already" in capsys.readouterr().out
    assert solve(*words, "keyframes=3") == 0
    assert np.load(tmp_path / "out" / "line-measurement.npy").shape == (3, 1, 2)


def test_a_csv_and_a_task(tmp_path, capsys):
    (tmp_path / "mine.csv").write_text("x,z\n0,0\n0,2\n1,3\n")
    assert solve(tmp_path / "out", "--path", tmp_path / "mine.csv", "--task", "path-2", "--json", *QUICK) == 0
    assert json.loads(capsys.readouterr().out)["path_error"] < 0.3
    assert np.load(tmp_path / "out" / "mine-measurement.npy").shape == (2, 1, 2)


def test_a_clip_is_measured_at_its_key_frames(tmp_path, capsys):
    np.save(tmp_path / "walk.npy", features_from_joints(walker(61, turn=0.02)[None])[0].numpy())
    assert solve(tmp_path / "out", tmp_path / "walk.npy", "--json", *QUICK, "joints=[pelvis]") == 0
    row = json.loads(capsys.readouterr().out)
    assert row["path_error"] < 0.3
    assert np.load(tmp_path / "out" / "walk-measurement.npy").shape == (5, 1, 3)
    assert np.load(tmp_path / "out" / "walk.npy").shape == (60, 263)
    assert (tmp_path / "out" / "walk-truth.png").exists()


def test_what_was_solved_can_be_compared(tmp_path, capsys):
    np.save(tmp_path / "walk.npy", features_from_joints(walker(61, turn=0.02)[None])[0].numpy())
    (tmp_path / "real").mkdir()
    (tmp_path / "walk.npy").rename(tmp_path / "real" / "walk.npy")
    assert solve(tmp_path / "made", tmp_path / "real" / "walk.npy", *QUICK) == 0
    assert run("eval", "--signal", "motion", tmp_path / "real", tmp_path / "made") == 0
    assert "1 pairs" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "give at least one picture; of motions, a clip or --path"),
        (("--path", "cirle"), "path: 'cirle' is unknown (did you mean 'circle'?)"),
        (("--path", "circle", "--task", "sr4-32"), "task: 'sr4-32' is none of motions"),
        (("--path", "circle", "--measured"), "measured: a stored measurement of a motion"),
        (("--path", "circle", "--sigma", "0.05"), "sigma: 0.05 m is noise on positions of a clip"),
        (("--path", "circle", "--frames", "300"), "frames: 300 must be from 20 to 196"),
        (("--path", "circle", "--operator", "identity"), "operator: identity measures the signal 'image'"),
        (("nothing.npy",), "clip nothing.npy"),
        (("clip.txt",), "a clip is a .bvh or .npy file"),
    ],
)
def test_what_cannot_be_solved_is_one_sentence(words, sentence, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("G2D2_MODULES", str(tmp_path))
    assert solve(tmp_path / "out", *words, *QUICK) == 2
    assert sentence in capsys.readouterr().err


def test_a_prior_of_pictures_is_refused(tmp_path, capsys):
    assert solve(tmp_path / "out", "--path", "circle", "--prompt", "a person walks", prior="cifar10") == 2
    sentence = "prior: it makes images, and these are motions; choose one such as cmu-motion."
    assert capsys.readouterr().err.strip() == f"g2d2 solve: {sentence}"


def test_pictures_still_need_an_operator(tmp_path, capsys):
    assert run("solve", tmp_path / "a.png", "--out", tmp_path / "o", "--prior", "cifar10") == 2
    assert "--operator and --task is required" in capsys.readouterr().err


def test_words_that_the_prior_never_saw_are_named(tmp_path, capsys):
    words = ("--path", "line", "--frames", "40", "--set", "steps=1", "iterations=1")
    assert solve(tmp_path / "out", *words, "--prompt", "a person walks", prior="cmu-motion") == 0
    assert "warning" not in capsys.readouterr().err
    assert solve(tmp_path / "out", *words, "--prompt", "a person juggles", prior="cmu-motion") == 0
    assert "prior cmu-motion never saw 'juggles' of the prompt" in capsys.readouterr().err


def test_what_was_solved_is_scored_by_what_it_was_given(tmp_path, capsys):
    """The number that solve prints, of a clip with noise and of a drawn path without a truth."""
    np.save(tmp_path / "walk.npy", features_from_joints(walker(61, turn=0.02)[None])[0].numpy())
    words = {"noisy": (tmp_path / "walk.npy", "--sigma", "0.05"), "drawn": ("--path", "line", "--frames", "40")}
    for name, own in words.items():
        assert solve(tmp_path / name, *own, "--json", *QUICK) == 0
        told = json.loads(capsys.readouterr().out)
        out = tmp_path / name
        metrics = ["path_error", "location_error_50cm", "trajectory_error_50cm", "foot_skating", "feet_on_floor"]
        metrics += ["residual_norm"]
        metrics += ["residual"] if name == "noisy" else []
        assert run("eval", "--signal", "motion", out, "--measurements", out, "--metrics", *metrics, "--json") == 0
        scores = json.loads(capsys.readouterr().out)
        found = {one["metric"]: one["mean"] for one in (*scores["generated"]["summary"], *scores["paths"]["summary"])}
        assert found == {metric: pytest.approx(told[metric], abs=1e-5) for metric in metrics}


def test_what_was_solved_is_held_against_its_prompt(tmp_path, capsys):
    """Texts and motions of the folder alone, and of files that an earlier version wrote without a prompt."""
    out = tmp_path / "out"
    assert solve(out, "--path", "line", "--frames", "40", "--prompt", "a person walks", *QUICK) == 0
    stored = out / "line-measurement.json"
    assert json.loads(stored.read_text())["prompt"] == "a person walks"
    words = ("eval", "--signal", "motion", out, "--measurements", out, "--metrics", "matching_score_cmu")
    assert run(*words) == 0
    stored.write_text(json.dumps({k: v for k, v in json.loads(stored.read_text()).items() if k != "prompt"}))
    capsys.readouterr()
    assert run(*words) == 1
    assert "there are 0 pairs of text and motion" in capsys.readouterr().err
