"""Secrets are planted in the environment of a real sweep, and everything it wrote or printed is searched for them."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from PIL import Image

from tests.pipelines.sweep_cases import run, specification, write_spec

SECRETS = {
    "AWS_ACCESS_KEY_ID": "AKIAPLANTED0000000001",
    "AWS_SECRET_ACCESS_KEY": "planted-aws-secret-7c1f",
    "AWS_SESSION_TOKEN": "planted-aws-session-91aa",
    "MLFLOW_TRACKING_USERNAME": "planted-mlflow-user-20e4",
    "MLFLOW_TRACKING_PASSWORD": "planted-mlflow-password-5d2b",
    "HF_TOKEN": "hf_plantedhubtoken4411",
    "RAY_AUTH_TOKEN": "planted-ray-token-3f9b0c52d1e84a76",
}
ROOT = Path(__file__).parents[2]


def readable(file):
    """The bytes a reader would get: Parquet is compressed, so its values are taken out."""
    if file.suffix == ".parquet":
        return str(pq.read_schema(file).metadata).encode() + str(pq.read_table(file).to_pylist()).encode()
    return file.read_bytes()


def found_in(folder):
    """Secret and file of every find below a folder, and how many files were searched."""
    files = [file for file in Path(folder).rglob("*") if file.is_file() and not file.is_symlink()]
    finds = {}
    for file in files:
        content = readable(file)
        for name, value in SECRETS.items():
            if value.encode() in content or value.encode("utf-16-le") in content:
                finds[name] = str(file)
    return finds, len(files)


def two_pictures(folder):
    """A manifest of two, one with a prompt that no prior can take."""
    rows = ["image_path,caption"]
    for index, caption in enumerate(["a b", "x" * 300]):
        Image.new("RGB", (8, 8), (index * 90, 30, 60)).save(folder / f"{index}.png")
        rows.append(f"{index}.png,{caption}")
    (folder / "pictures.csv").write_text("\n".join(rows))
    blur = ["--operator", "gaussian_blur", "--set", "kernel_size=5", "std=0.8", "--sigma", "0.05"]
    assert run("manifest", "build", folder / "pictures.csv", folder / "manifest", *blur) == 0
    return folder / "manifest"


@pytest.fixture(scope="module")
def sweep(tiny_prior, tmp_path_factory):
    """`g2d2 sweep` as a user would run it, with a row that fails: process, places written to, values."""
    folder = tmp_path_factory.mktemp("planted")
    tracking = {"enabled": True, "panels": 1}
    values = specification(two_pictures(folder), tiny_prior, folder / "out", grid={}, tracking=tracking)
    values["resources"] = {"shard": 20, "devices": 1, "cpus_per_device": 1}
    path = write_spec(folder / "spec.yaml", values)
    (folder / "home").mkdir()
    with tempfile.TemporaryDirectory(prefix="g2d2-") as scratch:  # short: Ray keeps sockets there
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("RAY_", "MLFLOW_"))}
        environment |= SECRETS | {
            "RAY_AUTH_MODE": "token",
            "RAY_TMPDIR": scratch,
            "HOME": str(folder / "home"),
            "PYTHONPATH": str(ROOT),
            "OMP_NUM_THREADS": "1",
        }
        words = [sys.executable, "-m", "pipelines.cli", "sweep", str(path)]
        done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=500, cwd=folder)
        yield done, {"results": folder, "ray": Path(scratch)}, values


def test_the_sweep_ran_and_a_row_failed(sweep):
    done, places, _ = sweep
    assert done.returncode == 1, done.stderr
    assert "2 of 2 work items committed, 0 twice, 1 failed" in done.stdout
    assert (places["results"] / "out" / "mlflow.db").exists()


def test_no_secret_is_printed(sweep):
    done, _, _ = sweep
    assert not [name for name, value in SECRETS.items() if value in done.stdout + done.stderr]


@pytest.mark.parametrize(("place", "least"), [("results", 10), ("ray", 5)])
def test_no_secret_is_written(sweep, place, least):
    _, places, _ = sweep
    finds, searched = found_in(places[place])
    assert searched >= least
    assert finds == {}


def test_the_search_finds_what_is_there(tmp_path):
    """A search that cannot find proves nothing."""
    import pyarrow as pa

    pq.write_table(pa.table({"x": [f"before {SECRETS['HF_TOKEN']} after"]}), tmp_path / "a.parquet", compression="zstd")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "log").write_bytes(b"\0" + SECRETS["RAY_AUTH_TOKEN"].encode())
    finds, searched = found_in(tmp_path)
    assert (set(finds), searched) == ({"HF_TOKEN", "RAY_AUTH_TOKEN"}, 2)


def test_failures_of_store_and_tracker_name_no_secret(sweep, monkeypatch, capfd, tmp_path):
    _, _, values = sweep
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    for name in ("G2D2_STORE_RETRY_SECONDS", "G2D2_TRACKING_RETRY_SECONDS"):
        monkeypatch.setenv(name, "0")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://me:{SECRETS['MLFLOW_TRACKING_PASSWORD']}@127.0.0.1:9")
    assert run("status", "s3://bucket/sweep") == 2
    assert run("track", values["output"]) == 2
    spec = write_spec(tmp_path / "s.yaml", values | {"output": f"s3://k:{SECRETS['AWS_SECRET_ACCESS_KEY']}@bucket/x"})
    assert run("plan", spec) == 2
    uri = f"http://me:{SECRETS['MLFLOW_TRACKING_PASSWORD']}@host"
    assert run("sweep", write_spec(tmp_path / "t.yaml", values | {"tracking": {"uri": uri}})) == 2
    said = "".join(capfd.readouterr())
    assert said.count("\n") >= 4
    assert "cannot be reached" in said
    assert not [name for name, value in SECRETS.items() if value in said]
