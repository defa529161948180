"""What dies during a race: a device, the driver, the store. The same decisions, and nothing lost."""

import os
import signal
import time

import pytest

from operators.validation import validate
from pipelines.plan.sweep_spec import SweepSpec
from pipelines.score.stored_sweep import StoredSweep
from pipelines.storage.sweep_folder import SweepFolder
from pipelines.sweep import run_sweep
from tests.pipelines.sweep_cases import build_manifest, specification, write_spec
from tests.pipelines.test_sweep_faults import start, wait_for_shards

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def manifest(tmp_path_factory):
    return build_manifest(tmp_path_factory.mktemp("race"), pictures=40)


def race(manifest, prior, output):
    return specification(manifest, prior, output) | {
        "solver": {"method": "bench.stand_in:Graded", "settings": {"steps": 2, "iterations": 1, "guidance": 1}},
        "grid": {"cross": {"eta_kl": [0.0, 0.02, 0.5, 0.9]}},
        "race": {"round": 4, "confirm": 8},
        "resources": {"shard": 4, "devices": 1},
    }


@pytest.fixture(scope="module")
def quiet(local_ray, manifest, tiny_prior, tmp_path_factory):
    """The race and the scores of an undisturbed sweep."""
    values = race(manifest, tiny_prior, tmp_path_factory.mktemp("quiet") / "o")
    run_sweep(validate(SweepSpec, values, where="specification"))
    heats, scores = came_to(SweepFolder(values["output"]))
    (heat,) = heats
    assert {one["left_after"] for one in heat["runners"][2:]} != {None}  # there is something to decide
    return heats, scores


def came_to(folder):
    sweep = StoredSweep.read(folder)
    assert sweep.missing == 0
    assert sweep.failed == 0
    names = ("cell", "measurement", "seed", "psnr")
    scores = {tuple(row[name] for name in names) for row in sweep.scores.table.select(names).to_pylist()}
    return sweep.race.model_dump()["heats"], scores


def ended(process):
    _, err = process.communicate(timeout=400)
    assert process.returncode == 0, err


def test_a_device_killed_in_mid_race(manifest, tiny_prior, tmp_path, quiet):
    values = race(manifest, tiny_prior, tmp_path / "o")
    folder = SweepFolder(values["output"])
    process = start(write_spec(tmp_path / "spec.yaml", values))
    wait_for_shards(folder, 3, process)
    row = folder.read_solved(sorted(folder.solved_shards())[0], ["device"]).to_pylist()[0]
    os.kill(int(row["device"].rsplit(":", 1)[1]), signal.SIGKILL)
    ended(process)
    assert came_to(folder) == quiet


def test_a_driver_killed_in_mid_race_and_started_again(manifest, tiny_prior, tmp_path, quiet):
    values = race(manifest, tiny_prior, tmp_path / "o")
    folder, path = SweepFolder(values["output"]), write_spec(tmp_path / "spec.yaml", values)
    for shards in (3, 9):
        process = start(path)
        wait_for_shards(folder, shards, process)
        process.kill()
        process.wait()
    ended(start(path))
    assert came_to(folder) == quiet


def test_a_store_that_goes_away_during_a_race(s3_server, manifest, tiny_prior, tmp_path, quiet, monkeypatch):
    for key, value in s3_server.env.items():
        monkeypatch.setenv(key, value)
    values = race(manifest, tiny_prior, f"s3://{s3_server.bucket}/race")
    folder = SweepFolder(values["output"])
    process = start(write_spec(tmp_path / "spec.yaml", values), **s3_server.env)
    wait_for_shards(folder, 3, process)
    s3_server.stop()
    time.sleep(8)
    s3_server.start()
    ended(process)
    assert came_to(folder) == quiet
