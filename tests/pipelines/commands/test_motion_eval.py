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


def test_intervals_of_shares_stay_among_shares(folders, tmp_path, capsys):
    """Two of two motions meet all key points: up to 78 % of others may not."""
    assert run("eval", "--signal", "motion", *folders, "--metrics", "trajectory_error_50cm", "--set", "frames=[0]",
               "--json") == 0  # fmt: skip
    (entry,) = json.loads(capsys.readouterr().out)["paths"]["summary"]
    assert (entry["mean"], entry["low"], entry["high"]) == (0.0, 0.0, pytest.approx(1 - 0.05**0.5))


def test_bad_clips_are_named_and_cost_no_other(folders, capsys):
    broken = clip()
    broken[3] = torch.nan
    large = clip()
    large[9, 200] = 1e5
    save(folders[1], {"nan": broken, "short": clip(10), "b": clip(50), "large": large})
    np.save(folders[1] / "wrong.npy", np.zeros((60, 66)))
    assert run("eval", "--signal", "motion", *folders) == 1
    err = capsys.readouterr().err
    assert "failed clip nan.npy: 1 of its 60 frames have NaN" in err
    assert "failed clip short: it is too short" in err or "failed clip short.npy: it is too short" in err
    assert "failed clip large.npy: a feature of frame 9 is 1e+05: it must be within 65504" in err
    assert "failed clip wrong.npy: it has shape (60, 66)" in err
    assert "failed clip b: it has 50 frames and its measurement is of 80" in err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--metrics", "psnr"), "metrics: 'psnr' does not score motions; choose from feet_on_floor"),
        (("--metrics", "foot_skatin"), "metrics: 'foot_skatin' is unknown (did you mean 'foot_skating'?)"),
        (("--metrics", "fid_t2m"), "metrics: fid_t2m needs the evaluator of Guo et al.; give --evaluator t2m:FOLDER"),
        (("--task", "path-3"), "task: 'path-3' is none of motions"),
        (("--cell", "star"), "is no sweep's output, so that it has no cells"),
        (("--measurements", "nowhere"), "measurements: nowhere is neither a manifest nor a folder"),
        (("--split", "test"), "split: "),
        (("--repeats", "0"), "repeats is 0"),
        (("--evaluator", "nothing"), "evaluator is 'nothing'"),
        (("--evaluator", "t2m:nowhere"), "evaluator: nowhere has no finest.tar, mean.npy, std.npy"),
        (("--set", "keyframe=3"), "did you mean"),
    ],
)
def test_what_cannot_be_asked(folders, words, sentence, capsys):
    assert run("eval", "--signal", "motion", *folders, *words) == 2
    assert sentence in capsys.readouterr().err


def scored(capsys, *words, code=0):
    """The JSON that a command prints."""
    assert run("eval", "--signal", "motion", *words, "--json") == code
    return json.loads(capsys.readouterr().out)


def paths(scores):
    return {entry["metric"]: entry["mean"] for entry in scores["paths"]["summary"]}


def test_some_metrics_by_name_open_no_evaluator(folders, capsys):
    scores = scored(capsys, *folders, "--metrics", "foot_skating", "--evaluator", "t2m:nowhere")
    assert [entry["metric"] for entry in scores["generated"]["summary"]] == ["foot_skating"]
    assert scores["real"]["clips"] == 3
    assert scores["paths"]["pairs"] == 0
    assert scores["sets"] == {"real": [], "generated": []}
    only = scored(capsys, *folders, "--metrics", "path_error", "diversity_cmu")
    assert list(paths(only)) == ["path_error"]
    assert [one["name"] for one in only["sets"]["generated"]] == ["diversity_cmu"]
    assert only["generated"]["summary"] == []


def test_a_number_that_was_asked_for_and_cannot_be_had_is_a_failure(folders, capsys):
    assert run("eval", "--signal", "motion", *folders, "--metrics", "r_precision_cmu_top3") == 1
    assert "without r_precision_cmu_top3 of generated motions" in capsys.readouterr().err


def test_key_frames_drawn_anew_are_those_of_a_manifest_and_said_to_be(folders, tmp_path, capsys):
    real, made = folders
    words = ("--signal", "motion", "--task", "path-5", "path-25pct", "--seed", "3")
    assert run("manifest", "build", real, tmp_path / "m", *words) == 0
    capsys.readouterr()
    assert run("eval", "--signal", "motion", real, made, "--metrics", "path_error") == 0
    assert "key frames were drawn anew" in capsys.readouterr().err
    for task in ("path-5", "path-25pct"):
        words = (real, made, "--task", task, "--metrics", "path_error")
        drawn = scored(capsys, *words, "--seed", "3")
        stored = scored(capsys, *words, "--measurements", tmp_path / "m")
        assert paths(drawn) == paths(stored) != paths(scored(capsys, *words, "--seed", "4"))
        assert (drawn["paths"]["measurements"], stored["paths"]["measurements"]) == (None, str(tmp_path / "m"))


def test_what_was_given_needs_no_real_folder_and_a_task_where_there_are_several(folders, tmp_path, capsys):
    real, made = folders
    assert run("manifest", "build", real, tmp_path / "m", "--signal", "motion", "--task", "path-1", "path-2") == 0
    capsys.readouterr()
    words = ("eval", "--signal", "motion", made, "--measurements", tmp_path / "m", "--metrics", "path_error")
    assert run(*words) == 2
    assert "clip a was measured as path-1/a and path-2/a; choose a task with --task" in capsys.readouterr().err
    assert run(*words, "--task", "path-2") == 0
    assert "1 of 3 measurements have no motion" in capsys.readouterr().err
    scores = scored(capsys, made, "--measurements", tmp_path / "m", "--task", "path-2", "--metrics", "foot_skating",
                    "whole_path_error")  # fmt: skip
    assert scores["real"]["clips"] == 2, "the truths of the manifest"
    ours = scored(capsys, real, real, "--measurements", tmp_path / "m", "--task", "path-2", "--metrics", "foot_skating",
                  "whole_path_error")  # fmt: skip
    assert paths(ours)["whole_path_error"] < 0.001 < paths(scores)["whole_path_error"]


def test_measured_files_say_what_a_clip_was_given(folders, tmp_path, capsys):
    """The end of b is off by 4 cm a key frame at frame 80; noise in y counts as error too."""
    real, made = folders
    out = tmp_path / "measured"
    words = ("--signal", "motion", real / "b.npy", "--set", "frames=[0, 79]", "--out", out)
    assert run("measure", *words) == 0
    capsys.readouterr()
    exact = scored(capsys, real, made, "--measurements", out, "--metrics", "path_error", "whole_path_error")
    assert paths(exact)["path_error"] == pytest.approx(0.01 * 0.05 * 79 / 2, rel=0.05)
    assert paths(exact)["whole_path_error"] == pytest.approx(0.01 * 0.05 * 79 / 2, rel=0.05)
    y = np.load(out / "b-measurement.npy")
    y[:, :, 0] += 0.3
    np.save(out / "b-measurement.npy", y)
    assert paths(scored(capsys, made, "--measurements", out, "--metrics", "path_error"))["path_error"] > 0.29


def test_clips_that_loaders_cut_to_multiples_of_four_are_scored_over_their_frames(tmp_path, capsys):
    """Walks of 60 to 64 frames with their key frames before frame 57, made 1 % too fast and cut as loaders do."""
    whole = {f"w{frames}": clip(frames) for frames in (60, 61, 62, 63, 64)}
    real, made = save(tmp_path / "real", whole), tmp_path / "made"
    assert run("manifest", "build", real, tmp_path / "m", "--signal", "motion", "--set", "frames=[0, 50]") == 0
    faster = {name: x[: 4 * (len(x) // 4)].clone() for name, x in whole.items()}
    for x in faster.values():
        x[:, 2] *= 1.01
    save(made, faster)
    words = ("--measurements", tmp_path / "m", "--metrics", "path_error", "whole_path_error")
    capsys.readouterr()
    assert run("eval", "--signal", "motion", real, made, *words, "--out", tmp_path / "s.parquet") == 0
    told = capsys.readouterr().err
    assert told.count("3 of 5 motions are up to 3 frames shorter than their measurements") == 1
    assert "failed" not in told
    for row in pq.read_table(tmp_path / "s.parquet").to_pylist():
        frames = 64 if row["item"] == "w64" else 60
        assert row["path_error"] == pytest.approx(0.01 * 0.05 * 50 / 2, rel=0.05)
        assert row["whole_path_error"] == pytest.approx(0.01 * 0.05 * (frames - 1) / 2, rel=0.05)


def test_a_key_frame_beyond_the_end_of_a_clip_and_a_much_shorter_one_fail(tmp_path, capsys):
    real = save(tmp_path / "real", {"beyond": clip(62), "short": clip(64), "whole": clip(64)})
    assert run("manifest", "build", real, tmp_path / "m", "--signal", "motion", "--set", "frames=[0, 60]") == 0
    made = save(tmp_path / "made", {"beyond": clip(62)[:60], "short": clip(64)[:60], "whole": clip(64)})
    words = ("--measurements", tmp_path / "m", "--metrics", "path_error")
    capsys.readouterr()
    assert run("eval", "--signal", "motion", made, *words) == 1
    told = capsys.readouterr().err
    assert "failed clip beyond: it has 60 of the 62 frames of its measurement, whose last key frame is 60" in told
    assert "failed clip short: it has 60 frames and its measurement is of 64" in told
    assert "shorter than their measurements" not in told


@pytest.mark.parametrize(
    ("facts", "sentence"),
    [
        ("no json", "measurement b-measurement.json: it cannot be read as JSON"),
        ({"params": None}, "params is None: it must be of type dict"),
        ({"y_shape": [3, 1, 3]}, "measurement b: y has shape [2, 1, 3] and its .json says [3, 1, 3]"),
        ({"signal": "image"}, "b: it measures the signal 'image'"),
    ],
)
def test_broken_files_of_measurements_are_named(folders, tmp_path, facts, sentence, capsys):
    out = tmp_path / "measured"
    words = ("--signal", "motion", folders[0] / "b.npy", "--set", "frames=[0, 79]", "--out", out)
    assert run("measure", *words) == 0
    stored = out / "b-measurement.json"
    stored.write_text(facts if isinstance(facts, str) else json.dumps(json.loads(stored.read_text()) | facts))
    capsys.readouterr()
    assert run("eval", "--signal", "motion", *folders, "--measurements", out, "--metrics", "path_error") == 1
    assert sentence in capsys.readouterr().err


def test_drawn_paths_are_scored(tmp_path, capsys):
    words = ("--signal", "motion", "--prompts", tmp_path / "prompts.txt", "--task", "path-5")
    (tmp_path / "prompts.txt").write_text("a person walks\na person runs\n")
    assert run("manifest", "build", "line", tmp_path / "m", *words) == 0
    save(tmp_path / "made" / "line", {"00": clip(196, speed=0.04), "01": clip(196, speed=0.02)})
    capsys.readouterr()
    scores = scored(capsys, tmp_path / "made", "--measurements", tmp_path / "m", "--metrics", "path_error",
                    "trajectory_error_50cm", "foot_skating", "diversity_cmu")  # fmt: skip
    assert scores["paths"]["pairs"] == 2
    assert paths(scores)["trajectory_error_50cm"] == 0.5, "only one walks the 0.8 m a second that the line asks for"
    assert set(scores) == {"generated", "paths", "sets", "unavailable"}, "drawn paths have no real motions"


def test_measurements_of_other_clips_and_settings_beside_them_are_refused(folders, tmp_path, capsys):
    real, made = folders
    save(tmp_path / "others", {"x": clip(60)})
    assert run("manifest", "build", tmp_path / "others", tmp_path / "m", "--signal", "motion") == 0
    words = ("eval", "--signal", "motion", real, made, "--measurements", tmp_path / "m")
    assert run(*words) == 2
    assert "has none for any of 2 clips; they are called 'a, b' and its ids are 'path/x'" in capsys.readouterr().err
    assert run(*words, "--set", "keyframes=3") == 2
    assert "--set: keyframes would say what the measurements say already" in capsys.readouterr().err
    assert run(*words, "--task", "path-5") == 2
    assert "task: 'path-5' is not in" in capsys.readouterr().err
    assert run("eval", "--signal", "motion", made) == 2
    assert "stands alone: give real motions before it, or --measurements" in capsys.readouterr().err


def test_a_split_of_the_real_clips(tmp_path, capsys):
    root = tmp_path / "HumanML3D"
    save(root / "new_joint_vecs", {"a": clip(), "b": clip(80)})
    (root / "test.txt").write_text("b\n")
    made = save(tmp_path / "made", {"a": clip(), "b": clip(80)})
    scores = scored(capsys, root, made, "--split", "test", "--metrics", "foot_skating", "path_error")
    assert (scores["real"]["clips"], scores["generated"]["clips"], scores["paths"]["pairs"]) == (1, 2, 1)


def test_options_of_motions_and_lone_pictures_are_refused(tmp_path, capsys):
    assert run("eval", tmp_path / "a.png") == 2
    assert "RECON is missing" in capsys.readouterr().err
    assert run("eval", tmp_path / "a.png", tmp_path / "b.png", "--measurements", "m") == 2
    assert "--measurements: it says nothing about pictures" in capsys.readouterr().err
