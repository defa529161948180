"""`g2d2 eval --signal motion`: folders of any method's motions against real ones."""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch

from eval.motion_evaluators import EVALUATORS, MotionEvaluator
from operators.skeleton import features_from_joints
from tests.operators.skeleton.clips import walker
from tests.pipelines.sweep_cases import run


class Mean(MotionEvaluator):
    """A motion is where its root's speed lies; a text is the number in it."""

    name = "mean"

    def motions(self, clips):
        return np.stack([[float(clip[:, 2].mean()), 0.0] for clip in clips]).astype(np.float32)

    def texts(self, prompts):
        return np.stack([[float(prompt.split()[-1]), 0.0] for prompt in prompts]).astype(np.float32)


@pytest.fixture(autouse=True)
def known_here(monkeypatch):
    monkeypatch.setitem(EVALUATORS._found, "here:Mean", Mean)


def clip(frames=60, **walk):
    return features_from_joints(walker(frames + 1, **walk)[None])[0]


def glide(frames=60):
    """A body that moves without lifting its feet."""
    still = walker(1).expand(frames + 1, -1, -1).clone()
    still[..., 2] += 0.05 * torch.arange(frames + 1)[:, None]
    return features_from_joints(still[None])[0]


def save(folder, clips):
    folder.mkdir(parents=True, exist_ok=True)
    for name, x in clips.items():
        np.save(folder / f"{name}.npy", x.numpy())
    return folder


@pytest.fixture
def folders(tmp_path):
    """b walks 1 % too fast, so that its end is some centimetres off; c exists on one side only."""
    real = save(tmp_path / "real", {"a": clip(), "b": clip(80), "c": clip(50)})
    faster = clip(80)
    faster[:, 2] *= 1.01
    return real, save(tmp_path / "made", {"a": glide(), "b": faster})


def test_the_real_motions_come_first(folders, capsys):
    assert run("eval", "--signal", "motion", *folders) == 0
    out, err = capsys.readouterr()
    assert out.index("real") < out.index("generated")
    assert "foot_skating_paper" in out
    assert "2 pairs" in out
    assert "without fid_t2m, r_precision_t2m_top1" in err
    assert "they need the evaluator of Guo et al., as --evaluator t2m:FOLDER" in err
    assert "frechet_cmu" in out
    assert "diversity_cmu" in out


def test_numbers(folders, capsys, tmp_path):
    words = (
        "eval",
        "--signal",
        "motion",
        *folders,
        "--set",
        "frames=[0, 40]",
        "--out",
        tmp_path / "s.parquet",
        "--json",
    )
    assert run(*words) == 0
    scores = json.loads(capsys.readouterr().out)
    skating = {entry["metric"]: entry["mean"] for entry in scores["generated"]["summary"]}
    assert scores["real"]["clips"] == 3
    stored = {row["item"]: row for row in pq.read_table(tmp_path / "s.parquet").to_pylist()}
    assert stored["a"]["foot_skating"] == 1.0
    assert stored["a"]["foot_skating_paper"] == pytest.approx(59 / 195)
    assert skating["foot_skating"] == pytest.approx((1 + stored["b"]["foot_skating"]) / 2)
    assert stored["b"]["path_error"] == pytest.approx(0.01 * 0.05 * 40 / 2, rel=0.05)
    assert stored["b"]["trajectory_error_50cm"] == 0.0
    assert {one["name"] for one in scores["sets"]["generated"]} == {"frechet_cmu", "diversity_cmu"}


def test_the_same_motions_have_no_error(folders, capsys):
    assert run("eval", "--signal", "motion", folders[0], folders[0], "--json") == 0
    scores = json.loads(capsys.readouterr().out)
    assert scores["real"] == scores["generated"]
    assert [entry["mean"] for entry in scores["paths"]["summary"]] == [0, 0, 0]


def test_an_evaluator_of_ones_own_gives_numbers_of_its_own_names(tmp_path, capsys):
    root = tmp_path / "HumanML3D"
    clips = {f"{number:03d}": clip(30, speed=0.01 + 0.002 * number) for number in range(40)}
    save(root / "new_joint_vecs", clips)
    (root / "texts").mkdir()
    for name, x in clips.items():
        (root / "texts" / f"{name}.txt").write_text(f"walks by {float(x[:, 2].mean())}#w#0.0#0.0\n")
    made = save(tmp_path / "made", clips)
    words = ("eval", "--signal", "motion", root, made, "--evaluator", "here:Mean", "--repeats", "3", "--json")
    assert run(*words) == 0
    scores = json.loads(capsys.readouterr().out)
    sets = {entry["name"]: entry for entry in scores["sets"]["generated"]}
    retrieval = {f"r_precision_mean_top{top}" for top in (1, 2, 3)}
    assert set(sets) == {"frechet_mean", "matching_score_mean", "diversity_mean"} | retrieval
    assert sets["frechet_mean"]["mean"] == pytest.approx(0, abs=1e-6)
    assert sets["r_precision_mean_top1"] == {
        "name": "r_precision_mean_top1", "mean": 1.0, "interval": 0.0, "repeats": 3,
    }  # fmt: skip
    assert sets["matching_score_mean"]["mean"] == pytest.approx(0, abs=1e-6)
    assert {one["name"] for one in scores["sets"]["real"]} == set(sets) - {"frechet_mean"}


def test_bad_clips_are_named_and_cost_no_other(folders, capsys):
    broken = clip()
    broken[3] = torch.nan
    save(folders[1], {"nan": broken, "short": clip(10), "b": clip(50)})
    np.save(folders[1] / "wrong.npy", np.zeros((60, 66)))
    assert run("eval", "--signal", "motion", *folders) == 1
    err = capsys.readouterr().err
    assert "failed clip nan.npy: 1 of its 60 frames have NaN" in err
    assert "failed clip short: it is too short" in err or "failed clip short.npy: it is too short" in err
    assert "failed clip wrong.npy: it has shape (60, 66)" in err
    assert "failed clip b: it has 50 frames and its real one 80" in err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--metrics", "psnr"), "leave --metrics out"),
        (("--repeats", "0"), "repeats is 0"),
        (("--evaluator", "nothing"), "evaluator is 'nothing'"),
        (("--evaluator", "t2m:nowhere"), "evaluator: nowhere has no finest.tar, mean.npy, std.npy"),
        (("--set", "keyframe=3"), "did you mean"),
    ],
)
def test_what_cannot_be_asked(folders, words, sentence, capsys):
    assert run("eval", "--signal", "motion", *folders, *words) == 2
    assert sentence in capsys.readouterr().err
