"""The first two commands, as a person would use them, on a prior folder with random weights."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from PIL import Image
from safetensors.torch import load_file, save_file

from g2d2.methods.g2d2 import G2D2
from pipelines import cli

SOLVER = ["--set", "steps=3", "iterations=2", "guidance=1"]


@pytest.fixture(scope="module")
def prior(tiny_prior):
    return str(tiny_prior)


@pytest.fixture
def pictures(tmp_path):
    random = np.random.default_rng(0)
    for name in ("one", "two", "three"):
        Image.fromarray(random.integers(0, 255, (8, 8, 3), dtype=np.uint8)).save(tmp_path / f"{name}.png")
    return [str(tmp_path / f"{name}.png") for name in ("one", "two", "three")]


def run(*words):
    return cli.main([str(word) for word in words])


def pixels(path):
    return np.asarray(Image.open(path))


def test_measure_writes_what_was_measured(pictures, tmp_path, capsys):
    out = tmp_path / "m"
    words = ["--operator", "gaussian_blur", "--set", "kernel_size=5", "std=0.8", "--sigma", "0.05", "--out", out]
    assert run("measure", *pictures, *words) == 0
    y = np.load(out / "one-measurement.npy")
    assert (y.dtype, y.shape) == (np.float32, (3, 8, 8))
    assert pixels(out / "one-measurement.png").shape == (8, 8, 3)
    assert len(capsys.readouterr().out.splitlines()) == 3
    assert run("measure", pictures[0], *words[:-1], tmp_path / "again") == 0
    assert np.array_equal(np.load(tmp_path / "again" / "one-measurement.npy"), y)
    assert run("measure", pictures[0], *words[:-1], tmp_path / "other", "--seed", "1") == 0
    assert not np.array_equal(np.load(tmp_path / "other" / "one-measurement.npy"), y)


def test_solve_writes_reconstruction_panel_and_trace(pictures, prior, tmp_path, capsys):
    out = tmp_path / "s"
    words = ["--operator", "super_resolution", "--prior", prior, "--record", "3", "1", "--json", "--out", out]
    assert run("solve", *pictures, *words, *SOLVER, "factor=2") == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["image"] for row in rows] == ["one", "two", "three"]
    assert all(0 < row["psnr"] < 60 and row["residual"] > 0 for row in rows)
    assert rows[0]["residual"] == pytest.approx(rows[0]["residual_norm"] / (0.05 * (3 * 4 * 4) ** 0.5))
    assert pixels(out / "one.png").shape == (8, 8, 3)
    assert pixels(out / "one-panel.png").shape == (256, 3 * 256 + 2 * 8, 3)
    assert pixels(out / "one-snapshots.png").shape == (256, 2 * 256 + 8, 3)
    trace = np.load(out / "one-trace.npz")
    assert trace["likelihood"].shape == (3 * 2,)
    assert trace["snapshot_3"].shape == (3, 8, 8)


def test_the_mean_of_samples_has_a_map_of_their_spread_beside_it(pictures, prior, tmp_path, capsys):
    out = tmp_path / "s"
    words = ["--operator", "identity", "--prior", prior, "--json", "--out", out]
    assert run("solve", pictures[0], *words, *SOLVER, "samples=3") == 0
    (row,) = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    both, trace = pixels(out / "one-spread.png"), np.load(out / "one-trace.npz")
    assert both.shape == (256, 2 * 256 + 8, 3)
    assert row["spread"] == pytest.approx(float(trace["spread"].mean()) / 2, rel=1e-4)
    spread = trace["spread"].mean(axis=0)
    assert np.abs(both[16::32, 256 + 8 + 16 :: 32, 0] - 255 * spread / spread.max()).max() < 2
    assert run("solve", pictures[0], *words[:-1], tmp_path / "single", *SOLVER) == 0
    assert not (tmp_path / "single" / "one-spread.png").exists()


def test_a_stored_measurement_gives_the_same_reconstruction(pictures, prior, tmp_path):
    task = ["--operator", "identity", "--sigma", "0.1"]
    assert run("measure", *pictures, *task, "--out", tmp_path / "m") == 0
    stored = [tmp_path / "m" / f"{name}-measurement.npy" for name in ("one", "two", "three")]
    assert run("solve", *stored, "--measured", *task, "--prior", prior, "--out", tmp_path / "a", *SOLVER) == 0
    assert run("solve", *pictures, *task, "--prior", prior, "--out", tmp_path / "b", *SOLVER) == 0
    for name in ("one", "two", "three"):
        assert np.array_equal(pixels(tmp_path / "a" / f"{name}.png"), pixels(tmp_path / "b" / f"{name}.png"))


def test_batch_and_order_do_not_matter(pictures, prior, tmp_path):
    words = ["--operator", "identity", "--prior", prior, *SOLVER]
    assert run("solve", *pictures, *words, "--out", tmp_path / "a", "--batch", 3) == 0
    assert run("solve", *reversed(pictures), *words, "--out", tmp_path / "b", "--batch", 1) == 0
    for name in ("one", "two", "three"):
        assert np.array_equal(pixels(tmp_path / "a" / f"{name}.png"), pixels(tmp_path / "b" / f"{name}.png"))


def test_settings_reach_the_method(pictures, prior, tmp_path):
    words = [pictures[0], "--operator", "identity", "--prior", prior, *SOLVER]
    assert run("solve", *words, "--out", tmp_path / "star") == 0
    assert run("solve", *words, "--set", "process=markov", "--out", tmp_path / "markov") == 0
    star, markov = (np.load(tmp_path / name / "one-trace.npz")["masked"] for name in ("star", "markov"))
    assert not np.array_equal(star, markov)


def test_an_interrupted_run_keeps_what_is_done_and_goes_on(pictures, prior, tmp_path, capsys, monkeypatch):
    words = [*pictures, "--operator", "identity", "--prior", prior, "--batch", 1, "--out", tmp_path / "s", *SOLVER]
    real, calls = G2D2.restore, []

    def interrupted(*args, **kwargs):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(*args, **kwargs)

    monkeypatch.setattr(G2D2, "restore", interrupted)
    assert run("solve", *words) == 130
    assert (tmp_path / "s" / "one.json").exists()
    assert not (tmp_path / "s" / "two.json").exists()
    assert run("solve", *words) == 0
    assert len(calls) == 4  # one was not solved again
    assert "1 of 3 are there already" in capsys.readouterr().out
    assert run("solve", *words, "--json") == 0
    assert [json.loads(line)["image"] for line in capsys.readouterr().out.splitlines()] == ["one", "two", "three"]
    assert len(calls) == 4
    assert run("solve", *words, "--seed", 5) == 0
    assert len(calls) == 7  # another seed is other work


@pytest.mark.parametrize("method", ["wiener", "bicubic", "g2d2.methods.wiener:Wiener"])
def test_any_method_restores_pictures_of_any_size_without_a_prior(method, pictures, tmp_path, capsys):
    words = ["--method", method, "--operator", "gaussian_blur", "--set", "kernel_size=5", "std=0.8"]
    assert run("solve", *pictures, *words, "--out", tmp_path / "s", "--json") == 0
    assert all(row["psnr"] > 10 for row in map(json.loads, capsys.readouterr().out.splitlines()))


def test_a_method_that_needs_a_prior_says_so(pictures, tmp_path, capsys):
    assert run("solve", pictures[0], "--operator", "identity", "--out", tmp_path / "s") == 2
    assert "prior: method 'g2d2' needs one; give --prior" in capsys.readouterr().err


def test_a_prior_trained_anew_in_its_place_is_other_work(pictures, prior, tmp_path, capsys):
    own = shutil.copytree(prior, tmp_path / "prior")
    words = [pictures[0], "--operator", "identity", "--prior", own, "--out", tmp_path / "s", *SOLVER]
    assert run("solve", *words) == 0
    before = (tmp_path / "s" / "one.png").read_bytes()
    path = own / "vqvae" / "diffusion_pytorch_model.safetensors"
    tensors = load_file(path)
    tensors["decoder.conv_out.weight"] *= -1
    save_file(tensors, path, metadata={"format": "pt"})
    capsys.readouterr()
    assert run("solve", *words) == 0
    assert "already" not in capsys.readouterr().out
    assert (tmp_path / "s" / "one.png").read_bytes() != before
    elsewhere = shutil.copytree(own, tmp_path / "moved")
    assert run("solve", *[elsewhere if word is own else word for word in words]) == 0
    assert "1 of 1 are there already" in capsys.readouterr().out


@pytest.mark.parametrize("setting", ["learning_rate=1e308", "eta_kl=1e308"])
def test_a_run_that_diverges_is_a_failure(pictures, prior, tmp_path, capsys, setting):
    words = [pictures[0], "--operator", "identity", "--prior", prior, "--out", tmp_path / "s", *SOLVER, setting]
    assert run("solve", *words) == 1
    error = capsys.readouterr().err
    assert "one: its losses became NaN or infinite at noise level t = " in error
    assert len(error.strip().splitlines()) == 1
    assert not list((tmp_path / "s").iterdir())


def test_a_measurement_that_diverges_fails_alone(pictures, prior, tmp_path, capsys):
    assert run("measure", pictures[0], "--operator", "identity", "--out", tmp_path) == 0
    good = tmp_path / "one-measurement.npy"
    huge = tmp_path / "huge-measurement.npy"
    np.save(huge, np.load(good) * np.float32(1e38))
    words = ["--measured", "--operator", "identity", "--prior", prior, *SOLVER, "--out"]
    assert run("solve", good, *words, tmp_path / "alone") == 0
    capsys.readouterr()
    assert run("solve", huge, good, *words, tmp_path / "both") == 1
    assert "huge: its losses became NaN or infinite" in capsys.readouterr().err
    assert not (tmp_path / "both" / "huge.json").exists()
    assert np.array_equal(pixels(tmp_path / "both" / "one.png"), pixels(tmp_path / "alone" / "one.png"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["{0}", "--operator", "identity", "--device", "foo"], "device: 'foo' is no device of torch; use cpu, cuda or"),
        (["{0}", "--operator", "identity", "--device", "meta"], "device: 'meta' cannot be used here"),
        (["missing.png", "--operator", "identity"], "missing.png: there is no such file"),
        (["{0}", "--operator", "blur"], "'blur'"),
        (["{0}", "--task", "sr8"], "task: 'sr8' is unknown; choose one of sr4-256"),
        (
            ["{0}", "--operator", "identity", "--set", "eta=1"],
            "'eta' is not a setting (did you mean 'eta_kl'?); known are g2d2: process",
        ),
        (["{0}", "--operator", "identity", "--set", "eta_kl=-1"], "eta_kl"),
        (["{0}", "--operator", "identity", "--set", "eta_kl"], "'eta_kl' is not key=value"),
        (["{0}", "--operator", "identity", "--set", "gamma=1", "gamma=0"], "'gamma' is given twice"),
        (
            ["{0}", "--operator", "identity", "--set", "steps=11"],
            "steps: 11 is more than the prior's 10",
        ),
        (["{0}", "--operator", "identity", "--sigma", "-1"], "sigma: -1.0 must be finite and at least 0"),
        (["{0}", "--operator", "identity", "--record", "500"], "record: 500 is not a step"),
        (["{0}", "--operator", "identity", "--batch", "0"], "batch: 0 must be at least 1"),
        (["{0}", "--operator", "identity", "--prompt", "x" * 50], "has 52 tokens and the prior's tokenizer allows 16"),
        (["{0}", "{0}", "--operator", "identity"], "would both write 'one'"),
        (["{0}", "--operator", "identity", "--experiment", "mars"], "experiment: 'mars' is unknown"),
        (["{0}", "--operator", "identity", "--measured"], "is not a .npy file"),
        (["{1}", "--operator", "identity"], "it is 4x4 and must be 8x8; --resize crops and resizes it"),
        (["{2}", "--operator", "identity"], "cannot be read as a picture"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(pictures, prior, tmp_path, capsys, words, message):
    small, text = tmp_path / "small.png", tmp_path / "text.png"
    Image.new("RGB", (4, 4)).save(small)
    text.write_text("not a picture")
    words = [word.format(pictures[0], small, text) for word in words]
    if not any(word.startswith("steps=") for word in words):
        words += ["--set", "steps=3"]
    assert run("solve", *words, "--prior", prior, "--out", tmp_path / "s") == 2
    error = capsys.readouterr().err
    assert message in error
    assert len(error.strip().splitlines()) == 1
    assert not (tmp_path / "s").exists() or not list((tmp_path / "s").iterdir())


def test_another_size_is_resized_when_asked(prior, tmp_path):
    Image.new("RGB", (20, 30), "red").save(tmp_path / "red.png")
    words = [tmp_path / "red.png", "--resize", "--operator", "identity", "--prior", prior, "--out", tmp_path / "s"]
    assert run("solve", *words, *SOLVER) == 0


def test_help_shows_an_example_for_every_command(capsys):
    for name in cli.COMMANDS:
        with pytest.raises(SystemExit) as stop:
            run(name, "--help")
        assert stop.value.code == 0
        assert f"example:\n  g2d2 {name}" in capsys.readouterr().out


def test_ctrl_c_ends_the_real_command_cleanly(pictures, prior, tmp_path):
    words = [*pictures, "--operator", "identity", "--prior", prior, "--out", tmp_path / "s", "--batch", "1"]
    command = [sys.executable, "-m", "pipelines.cli", "solve", *map(str, words), "--set", "steps=10", "iterations=400"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    deadline = time.monotonic() + 120
    while not (tmp_path / "s" / "one.json").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130, error
    assert "finished results are kept" in error
    assert "Traceback" not in error
    assert not list((tmp_path / "s").glob("*.partial"))
