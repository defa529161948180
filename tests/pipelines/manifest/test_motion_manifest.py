"""Manifests of motions: HumanML3D folders, BVH, arrays, Parquet of joints, and drawn paths without truth."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from operators.skeleton import LONGEST, features_from_joints
from pipelines.manifest import Manifest, build_row_operator, check_manifest, decode_truth, measurement, read_row
from tests.operators.skeleton.clips import MOTION, walker
from tests.operators.skeleton.test_bvh import bvh
from tests.pipelines.sweep_cases import run


def build(source, out, *options):
    return run("manifest", "build", source, out, "--signal", "motion", *options)


def rows_of(folder):
    manifest = Manifest.open(str(folder))
    assert list(check_manifest(manifest)) == []
    table = manifest.fetch(
        [(shard, row) for shard, one in enumerate(manifest.summary.shards) for row in range(one.rows)]
    )
    return {row["id"]: row for row in (read_row(table, place) for place in range(table.num_rows))}


def clip(frames, **walk):
    return features_from_joints(walker(frames + 1, **walk)[None])[0].numpy()


@pytest.fixture
def humanml3d(tmp_path):
    """A folder as HumanML3D has it: clips, captions with words and times, and lists."""
    root = tmp_path / "HumanML3D"
    for name in ("new_joint_vecs", "texts"):
        (root / name).mkdir(parents=True)
    for number, length in enumerate((60, 90, 120, 250)):
        np.save(root / "new_joint_vecs" / f"{number:06d}.npy", clip(length, turn=0.01 * number))
    texts = {
        0: "a person walks.#a/DET person/NOUN walk/VERB#0.0#0.0\nhe walks#he/PRON#0.0#0.0\n",
        1: "someone turns#x#nan#nan\n",
        2: "the middle part#x#1.0#4.0\n",
    }
    for number, text in texts.items():
        (root / "texts" / f"{number:06d}.txt").write_text(text)
    (root / "test.txt").write_text("000000\n000002\n")
    return root


def test_a_humanml3d_folder(humanml3d, tmp_path, capsys):
    assert build(humanml3d, tmp_path / "m", "--task", "path-5", "path-25pct") == 1
    assert "000003: it is too long with 250 frames: at most 196 (9.8 s) are allowed; --cut takes it" in (
        capsys.readouterr().err
    )
    rows = rows_of(tmp_path / "m")
    assert len(rows) == 6
    first, part = rows["path-5/000000"], rows["path-25pct/000002"]
    assert (first["prompt"], first["signal"], first["x_shape"]) == ("a person walks.", "motion", [60, 263])
    assert rows["path-5/000001"]["prompt"] == "someone turns"
    assert part["prompt"] == "the middle part"
    assert part["x_shape"] == [60, 263]
    assert torch.allclose(decode_truth(part), torch.from_numpy(clip(120, turn=0.02)[20:80]), atol=2e-3)
    assert list(measurement(part).shape) == [15, 1, 3]


def test_what_is_measured_is_the_truth_at_its_key_frames(humanml3d, tmp_path):
    assert build(humanml3d, tmp_path / "m", "--limit", "2", "--set", "keyframes=3", "joints=[pelvis, head]") == 0
    rows = rows_of(tmp_path / "m")
    frames = set()
    for row in rows.values():
        operator = build_row_operator(row)
        assert torch.equal(operator(decode_truth(row)[None])[0], measurement(row))
        frames.add(tuple(operator.frames[0].tolist()))
    assert len(frames) == 2, "every clip has key frames of its own"


def test_splits_cuts_limits_and_noise(humanml3d, tmp_path):
    assert build(humanml3d, tmp_path / "s", "--split", "test") == 0
    assert set(rows_of(tmp_path / "s")) == {"path/000000", "path/000002"}
    assert build(humanml3d, tmp_path / "c", "--cut", "--sigma", "0.1") == 0
    rows = rows_of(tmp_path / "c")
    assert {"path/000003@0", "path/000003@196"} <= set(rows)
    assert rows["path/000003@196"]["x_shape"] == [54, 263]
    row = rows["path/000000"]
    clean = build_row_operator(row)(decode_truth(row)[None])[0]
    assert 0.01 < float((measurement(row) - clean).abs().mean()) < 0.3


def test_bvh_files_and_frame_rates(tmp_path, capsys):
    folder = tmp_path / "bvh"
    folder.mkdir()
    (folder / "walk.bvh").write_text(bvh(frames=90))
    (folder / "mute.bvh").write_text(bvh(frames=90, frame_time=None))
    (folder / "short.bvh").write_text(bvh(frames=30))
    (folder / "dog.bvh").write_text(bvh(["Root", "Paw"], (-1, 0), [(0, 1, 0), (0, 0, 1)]))
    assert build(folder, tmp_path / "m", "--prompt", "a person walks") == 1
    said = capsys.readouterr().err
    assert "clip mute.bvh: its frame rate is not known; give it with --fps." in said
    assert "clip short.bvh: it is too short with 9 frames: at least 20 (1 s) are needed." in said
    assert "clip dog.bvh: its skeleton is none of" in said
    assert rows_of(tmp_path / "m")["path/walk"]["x_shape"] == [29, 263]
    assert build(folder, tmp_path / "n", "--fps", "30", "--limit", "3") == 1
    assert rows_of(tmp_path / "n")["path/mute"]["x_shape"] == [58, 263]


@pytest.mark.skipif(not (MOTION / "bvh").exists(), reason="the samples are not at hand")
def test_the_sample_bvh_files(tmp_path):
    assert build(MOTION / "bvh", tmp_path / "m") == 0
    lengths = {name: row["x_shape"][0] for name, row in rows_of(tmp_path / "m").items()}
    assert lengths == {"path/08_06": 49, "path/35_01": 59}


def joint_bytes(joints):
    """int16 differences of half-millimetres, as the Parquet of joints has them."""
    whole = (joints.double().numpy() * 2000).round().astype(np.int16)
    return np.concatenate([whole[:1], np.diff(whole, axis=0)]).astype("<i2").tobytes()


def test_a_parquet_of_joints(tmp_path, capsys):
    clips = {"01_01": walker(81), "01_02": walker(61, turn=0.05), "02_01": walker(10)}
    contents = [joint_bytes(joints) for joints in clips.values()]
    table = pa.table({"clip": list(clips), "label": ["walk", None, "hop"], "joints": pa.array(contents, pa.binary())})
    pq.write_table(table, tmp_path / "joints.parquet")
    assert build(tmp_path / "joints.parquet", tmp_path / "m", "--prompt-template", "a person: {label}") == 1
    said = capsys.readouterr().err
    assert "clip 01_02: its column 'label' is empty" in said
    assert "clip 02_01: it is too short" in said
    row = rows_of(tmp_path / "m")["path/01_01"]
    assert (row["prompt"], row["label"]) == ("a person: walk", "walk")
    from operators.skeleton import on_reference_body

    expected = features_from_joints(on_reference_body(walker(81, dtype=torch.float64)[None]))[0]
    found = decode_truth(row)
    assert (found[:, 1:3] - expected[:, 1:3]).abs().max() < 1e-3
    assert (found[:, 4:67] - expected[:, 4:67]).abs().max() < 3e-3


def test_arrays_of_features_and_joints(tmp_path, capsys):
    folder = tmp_path / "npy"
    folder.mkdir()
    np.save(folder / "features.npy", clip(50))
    np.save(folder / "joints.npy", walker(51).numpy())
    np.save(folder / "smpl24.npy", np.zeros((50, 24, 3)))
    broken = clip(50)
    broken[7] = np.nan
    np.save(folder / "nan.npy", broken)
    np.save(folder / "none.npy", np.zeros((0, 263)))
    np.save(folder / "scalar.npy", np.float32(1))
    high = clip(50)
    high[12:, 3] = 48
    np.save(folder / "high.npy", high)
    large = clip(50)
    large[9, 200] = 1e5
    np.save(folder / "large.npy", large)
    (folder / "text.npy").write_text("no array")
    np.savez(folder / "several", clip(50))
    (folder / "several.npz").rename(folder / "several.npy")
    assert build(folder, tmp_path / "m") == 1
    said = capsys.readouterr().err
    assert "clip smpl24.npy: it has shape (50, 24, 3)" in said
    assert "clip nan.npy: 1 of its 50 frames have NaN or infinite values, frame 7 the first." in said
    for name in ("text", "several"):
        assert f"clip {name}.npy: it cannot be read as a NumPy array" in said
    assert "large: as a truth, a feature of frame 9 is 1e+05: it must be within 65504." in said
    assert "clip none.npy: it has 0 frames" in said
    assert "clip scalar.npy: it has shape ()" in said
    assert "clip high.npy: its path leaves the floor, with its root at a height of 48 m in frame 12" in said
    assert set(rows_of(tmp_path / "m")) == {"path/features", "path/joints"}


def test_drawn_paths_have_prompts_and_no_truth(tmp_path):
    (tmp_path / "prompts.txt").write_text("a person walks\n\na person runs\n")
    assert build("circle", tmp_path / "m", "--prompts", tmp_path / "prompts.txt", "--task", "path-5", "path-all") == 0
    rows = rows_of(tmp_path / "m")
    assert set(rows) == {f"{task}/circle/{number:02d}" for task in ("path-5", "path-all") for number in (0, 1)}
    row = rows["path-all/circle/01"]
    assert (row["prompt"], row["truth"], row["label"]) == ("a person runs", None, "circle")
    assert list(measurement(row).shape) == [LONGEST, 1, 2]
    y = measurement(row)[:, 0]
    assert float(y[0].abs().max()) < 1e-6
    assert float((y[-1] - y[0]).norm()) < 1e-5
    assert json.loads(row["operator_params"])["axes"] == "xz"


def test_a_drawn_csv_with_heights(tmp_path):
    (tmp_path / "stairs.csv").write_text("x,y,z\n0,0.9,0\n0,1.3,5\n")
    assert build(tmp_path / "stairs.csv", tmp_path / "m", "--prompt", "climb", "--frames", "100",
                 "--set", "frames=[0, 99]") == 0  # fmt: skip
    row = rows_of(tmp_path / "m")["path/stairs"]
    assert row["x_shape"] == [100, 263]
    assert torch.allclose(measurement(row)[:, 0], torch.tensor([[0, 0.9, 0], [0, 1.3, 5]]), atol=1e-5)
    assert (
        build(tmp_path / "stairs.csv", tmp_path / "flat", "--frames", "100", "--set", "frames=[0, 99]", "axes=xz") == 0
    )
    flat = measurement(next(iter(rows_of(tmp_path / "flat").values())))
    assert torch.allclose(flat[:, 0], torch.tensor([[0, 0], [0, 5.0]]), atol=1e-5)


def test_all_paths_of_the_package(tmp_path):
    assert build("paths", tmp_path / "m", "--limit", "2") == 0
    rows = rows_of(tmp_path / "m")
    assert len({row["label"] for row in rows.values()}) == 2
    assert len({row["prompt"] for row in rows.values()}) > 3


def test_the_same_command_builds_the_same_manifest(tmp_path, capsys):
    assert build("s", tmp_path / "m", "--prompt", "walk") == 0
    assert build("s", tmp_path / "m", "--prompt", "walk") == 0
    assert "is there already, the same" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("source", "options", "sentence"),
    [
        ("nowhere", (), "source: nowhere is missing or without clips; it must be a HumanML3D folder"),
        ("nothing.csv", (), "path: there is no file nothing.csv"),
        ("circle", ("--task", "sr4-32"), "tasks: 'sr4-32' is unknown"),
        ("circle", ("--task", "path-3"), "did you mean"),
        ("circle", ("--operator", "identity"), "operator: identity measures the signal 'image' and these are motions"),
        ("circle", ("--set", "joints=[pelvis, head]"), "a drawn path is of one joint"),
        ("circle", ("--sigma", "0.05"), "sigma: 0.05 m is noise on positions of a clip, and a drawn path has none"),
        ("circle", ("--set", "keyframes=300"), "keyframes is 300: the clip has 196 frames"),
        ("circle", ("--set", "axes=xy"), "path: axes is 'xy'"),
        ("circle", ("--set", "axes=xyz"), "axes: xyz asks for heights, and this path has none; leave it out, or give"),
        (
            "circle",
            ("--fps", "30", "--cut", "--split", "test"),
            "split, fps, cut: meant for clips, and circle is none",
        ),
        ("paths", ("--prompt-template", "{label}"), "prompt_template: meant for clips, and paths is none"),
        ("cirle", ("--frames", "60"), "source: cirle is missing or without clips"),
        ("circle", ("--resize",), "--resize: it says nothing about the signal 'motion'"),
        ("circle", ("--frames", "500"), "frames"),
        ("circle", ("--prompts", "nowhere.txt"), "--prompts: nowhere.txt cannot be read"),
    ],
)
def test_what_cannot_be_built_is_one_sentence(source, options, sentence, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert build(source, tmp_path / "m", *options) == 2
    assert sentence in capsys.readouterr().err


def test_a_path_that_leaves_the_floor(tmp_path, capsys):
    (tmp_path / "fly.csv").write_text("x,y,z\n0,1,0\n0,9,4\n")
    assert build(tmp_path / "fly.csv", tmp_path / "m") == 2
    assert "its path leaves the floor, with a height of 9 m" in capsys.readouterr().err


def test_a_drawn_path_of_another_encoding_is_named(tmp_path, capsys):
    (tmp_path / "mine.csv").write_text("x,z\n0,0\n0,2\n", encoding="utf-16")
    assert build(tmp_path / "mine.csv", tmp_path / "m") == 2
    assert "mine.csv: it is no text in UTF-8" in capsys.readouterr().err
    (tmp_path / "mine.csv").write_bytes(b"\xef\xbb\xbfx,z\r0,0\r0,2\r")
    assert build(tmp_path / "mine.csv", tmp_path / "m") == 0


def test_options_of_motions_say_nothing_about_pictures(tmp_path, capsys):
    assert run("manifest", "build", tmp_path, tmp_path / "m", "--task", "sr4-32", "--fps", "30") == 2
    assert "--fps: it says nothing about the signal 'image'" in capsys.readouterr().err


def test_a_sheet_shows_figures_and_key_points(tmp_path):
    assert build("circle", tmp_path / "m", "--prompt", "walk") == 0
    assert run("manifest", "show", tmp_path / "m", "--sheet", tmp_path / "sheet.png") == 0
    assert (tmp_path / "sheet.png").stat().st_size > 1000


def test_a_single_file_is_a_source_of_one_clip(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    np.save("walk.npy", clip(50))
    np.save("other.npy", clip(60))
    (tmp_path / "turn.bvh").write_text(bvh(frames=90))
    assert build("walk.npy", "m", "--frames", "40") == 2
    assert "frames: meant for drawn paths, and walk.npy is none; leave it out." in capsys.readouterr().err
    assert build("walk.npy", "m") == 0
    assert set(rows_of(tmp_path / "m")) == {"path/walk"}
    assert build(tmp_path / "turn.bvh", "b") == 0
    assert rows_of(tmp_path / "b")["path/turn"]["x_shape"] == [29, 263]


def test_measurements_beside_clips_are_no_clips(tmp_path):
    (tmp_path / "out").mkdir()
    np.save(tmp_path / "out" / "walk.npy", clip(50))
    np.save(tmp_path / "out" / "walk-measurement.npy", np.zeros((5, 1, 3)))
    assert build(tmp_path / "out", tmp_path / "m") == 0
    assert set(rows_of(tmp_path / "m")) == {"path/walk"}


def test_joints_that_do_not_stand_along_y_are_refused(tmp_path, capsys):
    """A walk along y or along -y leans one way or the other; either is told from a body that stands."""
    folder = tmp_path / "npy"
    folder.mkdir()
    upright = walker(51).numpy()
    upright[..., 15, 2] += 0.05  # its head is before its feet
    np.save(folder / "upright.npy", upright)
    for name, sign in (("forward", 1), ("backward", -1)):
        np.save(folder / f"{name}.npy", np.stack([upright[..., 0], sign * upright[..., 2], upright[..., 1]], axis=-1))
    np.save(folder / "upside-down.npy", upright * np.array([1, -1, 1], np.float32))
    assert build(folder, tmp_path / "m") == 1
    said = capsys.readouterr().err
    for name in ("forward", "backward", "upside-down"):
        assert f"clip {name}.npy: y is not up: its head is on average" in said
    assert set(rows_of(tmp_path / "m")) == {"path/upright"}


def test_joints_of_another_frame_rate_need_it_told(tmp_path):
    np.save(tmp_path / "slow.npy", walker(61).numpy())
    for options, frames in (((), 60), (("--fps", "40"), 30)):
        assert build(tmp_path / "slow.npy", tmp_path / f"m{frames}", *options) == 0
        assert rows_of(tmp_path / f"m{frames}")["path/slow"]["x_shape"] == [frames, 263]
