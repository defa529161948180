"""What dies on the way: a device, the driver, the store. Every id once, values as if nothing had happened."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bench.stand_in import SECONDS
from operators.validation import validate
from pipelines.plan.sweep_spec import SweepSpec
from pipelines.storage.sweep_folder import SweepFolder
from pipelines.sweep import run_sweep
from tests.pipelines.sweep_cases import specification, write_spec

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def quiet(local_ray, small_manifest, tiny_prior, tmp_path_factory):
    """Values of an undisturbed sweep, by measurement, cell and seed."""
    values = specification(small_manifest, tiny_prior, tmp_path_factory.mktemp("quiet") / "o")
    return scores(run_sweep(validate(SweepSpec, values, where="specification")).scores.table)


def scores(table):
    names = ("measurement", "eta_kl", "process", "seed")
    return {tuple(row[name] for name in names): row["psnr"] for row in table.to_pylist()}


def paced(values):
    return values | {
        "solver": values["solver"] | {"method": "bench.stand_in:Paced"},
        "resources": {"shard": 2, "devices": 1},
    }


def start(path, **environment):
    """A sweep with a Ray of its own, in a process group of its own."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith("RAY_")}
    return subprocess.Popen(
        [sys.executable, "-m", "pipelines.cli", "sweep", str(path), "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=clean | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", SECONDS: "0.5"} | environment,
        start_new_session=True,
    )


def wait_for_shards(folder, count, process):
    deadline = time.monotonic() + 240
    while len(folder.solved_shards()) < count:
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline, "no shard was solved in time"
        time.sleep(0.2)


def finished(process):
    out, err = process.communicate(timeout=400)
    assert process.returncode == 0, err
    facts = json.loads(out)  # one object, whatever Ray has to say
    assert (facts["complete"], facts["expected"], facts["duplicates"], facts["failed"]) == (True, 24, 0, 0)
    return facts


def test_a_device_killed_in_mid_sweep(small_manifest, tiny_prior, tmp_path, quiet):
    values = paced(specification(small_manifest, tiny_prior, tmp_path / "o"))
    folder = SweepFolder(values["output"])
    process = start(write_spec(tmp_path / "spec.yaml", values))
    wait_for_shards(folder, 2, process)
    row = folder.read_solved(sorted(folder.solved_shards())[0], ["device"]).to_pylist()[0]
    os.kill(int(row["device"].rsplit(":", 1)[1]), signal.SIGKILL)
    facts = finished(process)
    assert scores(folder.store.read_table(Path(facts["scores"]).relative_to(folder.url).as_posix())) == quiet
    devices = {
        row["device"] for shard in folder.solved_shards() for row in folder.read_solved(shard, ["device"]).to_pylist()
    }
    assert len(devices) == 2


def test_a_driver_killed_and_started_again(small_manifest, tiny_prior, tmp_path, quiet):
    values = paced(specification(small_manifest, tiny_prior, tmp_path / "o"))
    folder = SweepFolder(values["output"])
    path = write_spec(tmp_path / "spec.yaml", values)
    process = start(path)
    wait_for_shards(folder, 2, process)
    process.kill()
    process.wait()
    before = {name: folder.store.read_bytes(name) for name in folder.store.list("solved/")}
    facts = finished(start(path))
    assert scores(folder.store.read_table(Path(facts["scores"]).relative_to(folder.url).as_posix())) == quiet
    assert all(folder.store.read_bytes(name) == content for name, content in before.items())


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_ctrl_c_and_sigterm_keep_what_is_done(small_manifest, tiny_prior, tmp_path, quiet, number, code):
    values = paced(specification(small_manifest, tiny_prior, tmp_path / "o"))
    folder = SweepFolder(values["output"])
    path = write_spec(tmp_path / "spec.yaml", values)
    process = start(path)
    wait_for_shards(folder, 2, process)
    process.send_signal(number)
    _, err = process.communicate(timeout=120)
    assert process.returncode == code, err
    assert "the same command goes on" in err
    assert "Traceback" not in err
    facts = finished(start(path))
    assert scores(folder.store.read_table(Path(facts["scores"]).relative_to(folder.url).as_posix())) == quiet


def test_a_store_that_goes_away_and_comes_back(s3_server, tiny_prior, small_manifest, tmp_path, quiet, monkeypatch):
    for key, value in s3_server.env.items():
        monkeypatch.setenv(key, value)
    values = paced(specification(small_manifest, tiny_prior, f"s3://{s3_server.bucket}/faults"))
    folder = SweepFolder(values["output"])
    process = start(write_spec(tmp_path / "spec.yaml", values), **s3_server.env)
    wait_for_shards(folder, 2, process)
    s3_server.stop()
    time.sleep(8)
    s3_server.start()
    facts = finished(process)
    assert scores(folder.store.read_table(facts["scores"].removeprefix(folder.url + "/"))) == quiet
