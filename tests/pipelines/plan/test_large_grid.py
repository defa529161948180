"""A grid of 100 cells over 16 images, whose driver is killed while it solves and while it logs."""

import json
import os
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from bench.stand_in import SECONDS
from pipelines.storage.sweep_folder import SweepFolder
from tests.pipelines.sweep_cases import build_manifest, specification, write_spec

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
CELLS, IMAGES, SHARD = 100, 16, 64


class Sweep:
    """The command on one specification, started as often as it takes."""

    def __init__(self, folder, prior):
        values = specification(build_manifest(folder, pictures=IMAGES), prior, folder / "out")
        values["solver"] |= {"method": "bench.stand_in:FixedLatency"}
        values["grid"] = {
            "cross": {"eta_kl": {"log": [0.0001, 0.01], "count": 10}, "gamma": {"range": [0, 0.9], "count": 10}}
        }
        values |= {"tracking": {"panels": 1}, "resources": {"shard": SHARD, "devices": 1}, "metrics": ["psnr"]}
        self.path = write_spec(folder / "spec.yaml", values)
        self.folder = SweepFolder(values["output"])
        self.database = folder / "out" / "mlflow.db"

    def start(self):
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("RAY_", "MLFLOW_"))}
        return subprocess.Popen(
            [sys.executable, "-m", "pipelines.cli", "sweep", str(self.path), "--json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=clean | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", SECONDS: "0.05"},
            start_new_session=True,
        )

    def kill_when(self, reached):
        process = self.start()
        deadline = time.monotonic() + 400
        while not reached():
            assert process.poll() is None, process.communicate()[1]
            assert time.monotonic() < deadline, "it did not get there in time"
            time.sleep(0.02)
        process.kill()
        process.wait()

    def ask(self, query):
        with sqlite3.connect(f"file:{self.database}?mode=ro", uri=True, timeout=60) as database:
            return database.execute(query).fetchall()

    def logged(self):
        """Runs in the database so far."""
        try:
            return self.ask("select count(*) from runs")[0][0]
        except sqlite3.OperationalError:  # there is none yet
            return 0


@pytest.fixture(scope="module")
def restarted(tiny_prior, tmp_path_factory):
    """The sweep after two deaths of its driver while solving and one while logging, and what it then said."""
    sweep = Sweep(tmp_path_factory.mktemp("grid"), tiny_prior)
    shards = CELLS * IMAGES // SHARD
    sweep.kill_when(lambda: len(sweep.folder.solved_shards()) >= shards // 4)
    assert len(sweep.folder.solved_shards()) < shards
    before = len(sweep.folder.solved_shards())
    sweep.kill_when(lambda: len(sweep.folder.solved_shards()) > before + 1)
    assert len(sweep.folder.solved_shards()) < shards
    assert sweep.logged() == 0
    sweep.kill_when(lambda: sweep.logged() > CELLS // 2)
    assert sweep.logged() <= CELLS
    process = sweep.start()
    out, err = process.communicate(timeout=500)
    assert process.returncode == 0, err
    return sweep, json.loads(out)


def test_every_id_is_committed_once(restarted):
    sweep, facts = restarted
    counts = (facts["complete"], facts["expected"], facts["committed"], facts["duplicates"], facts["failed"])
    assert counts == (True, CELLS * IMAGES, CELLS * IMAGES, 0, 0)
    folder = sweep.folder
    committed = Counter(
        item for shard in folder.solved_shards() for item in folder.read_solved(shard, ["item"])["item"].to_pylist()
    )
    assert len(committed) == committed.total() == CELLS * IMAGES


def test_every_cell_is_one_run_and_every_metric_one_point(restarted):
    sweep, facts = restarted
    assert facts["tracked"]["cells_logged"] + facts["tracked"]["cells_skipped"] == CELLS
    assert facts["tracked"]["cells_skipped"] >= CELLS // 2 - 1  # what was logged before the driver died
    tagged = "select run_uuid from tags where key = 'mlflow.parentRunId' and value = '{}'"
    children = [run for (run,) in sweep.ask(tagged.format(facts["tracked"]["parent_run_id"]))]
    runs = sweep.ask("select run_uuid, status, lifecycle_stage, start_time from runs order by start_time")
    assert len(set(children)) == CELLS
    assert {run for run, *_ in runs} == {*children, facts["tracked"]["parent_run_id"]}
    assert {(status, stage) for _, status, stage, _ in runs} == {("FINISHED", "active")}
    points = Counter(sweep.ask("select run_uuid, key from metrics"))
    assert set(points.values()) == {1}
    assert Counter(run for run, _ in points if run in children) == dict.fromkeys(children, 7)
    settings = sweep.ask("select key, value, run_uuid from params where key in ('eta_kl', 'gamma')")
    assert len({value for key, value, _ in settings if key == "gamma"}) == 10
    starts = [start for *_, start in runs]
    gaps = sorted(later - earlier for earlier, later in pairwise(starts))
    print(f"{gaps[len(gaps) // 2] / 1000:.3f} s per cell")
