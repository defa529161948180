"""`g2d2 sweep` against real parts: measurements and results on S3, runs in an MLflow server on PostgreSQL."""

import io
import json
import os
import socket
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
import yaml
from PIL import Image

from bench.stand_in import SECONDS
from pipelines.plan.race_record import read_plan
from pipelines.storage.sweep_folder import SweepFolder
from tests.pipelines.sweep_cases import run, specification, write_spec

ROOT = Path(__file__).parents[2]
PATIENCE = "G2D2_TRACKING_RETRY_SECONDS"


def start(path, environment):
    """The command as a user runs it, with a Ray of its own."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith("RAY_")}
    return subprocess.Popen(
        [sys.executable, "-m", "pipelines.cli", "sweep", str(path), "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=clean | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", SECONDS: "0.3"} | environment,
        start_new_session=True,
    )


def wait_for_a_shard(folder, process):
    deadline = time.monotonic() + 300
    while not folder.solved_shards():
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline, "no shard was solved in time"
        time.sleep(0.2)


@pytest.fixture
def on_s3(s3_server, s3_env, mlflow_server, small_manifest, tiny_prior, tmp_path, request, monkeypatch):
    """A specification with measurements and results in the bucket, tracked by the server: 24 items in 4 cells."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", mlflow_server.uri)
    place = f"s3://{s3_server.bucket}/{request.node.name}"
    pictures = Path(small_manifest).parent / "pictures"
    assert run("manifest", "build", pictures, f"{place}/manifest", "--operator", "identity", "--sigma", "0.1") == 0
    values = specification(f"{place}/manifest", tiny_prior, f"{place}/out", name=request.node.name)
    values["solver"] |= {"method": "bench.stand_in:FixedLatency"}
    values["tracking"] = {"experiment": request.node.name, "panels": 2}
    return write_spec(tmp_path / "spec.yaml", values), SweepFolder(values["output"]), s3_env | mlflow_server.env


def assert_committed_once(folder):
    committed = Counter(
        item for shard in folder.solved_shards() for item in folder.read_solved(shard, ["item"])["item"].to_pylist()
    )
    assert committed == Counter(read_plan(folder).rows.ids.to_pylist())
    assert committed.total() == 24


class Logged:
    """What the server holds of an experiment, straight from its API."""

    def __init__(self, uri, experiment):
        from mlflow import MlflowClient

        self.client = MlflowClient(uri)
        found = self.client.get_experiment_by_name(experiment)
        runs = self.client.search_runs([found.experiment_id]) if found else []
        self.parents = [run for run in runs if "mlflow.parentRunId" not in run.data.tags]
        self.children = [run for run in runs if "mlflow.parentRunId" in run.data.tags]

    def points(self):
        """Every stored point of every metric."""
        return sorted(
            (run.info.run_id, name, point.value, point.step, point.timestamp)
            for run in [*self.parents, *self.children]
            for name in run.data.metrics
            for point in self.client.get_metric_history(run.info.run_id, name)
        )

    def artifact(self, run, name):
        import mlflow

        mlflow.set_tracking_uri(self.client.tracking_uri)
        return Path(self.client.download_artifacts(run.info.run_id, name)).read_bytes()

    def assert_complete(self):
        """One parent, one child per cell, one point per metric but those of machines, and files that can be fetched."""
        (parent,) = self.parents
        names = {f"identity, {arm}, eta_kl={eta}" for arm in ("star", "markov") for eta in ("0.001", "0.1")}
        assert sorted(run.info.run_name for run in self.children) == sorted(names)
        assert {run.data.tags["mlflow.parentRunId"] for run in self.children} == {parent.info.run_id}
        assert {run.info.status for run in [parent, *self.children]} == {"FINISHED"}
        assert all(run.data.metrics["count"] == 6 for run in self.children)
        assert parent.data.metrics["items"] == 24
        points = self.points()
        alone = [point[:2] for point in points if not point[1].startswith("system/")]
        assert len(alone) == len({*alone})
        assert len(points) == len({*points}) > len(alone)
        assert yaml.safe_load(self.artifact(parent, "spec.yaml"))["name"] == parent.info.run_name
        assert b"psnr" in self.artifact(parent, "contrasts.csv")
        for child in self.children:
            assert Image.open(io.BytesIO(self.artifact(child, "panel.png"))).size == (
                3 * 128 + 2 * 8,
                18 + 2 * (18 + 128) + 8,
            )


@pytest.mark.slow
def test_from_s3_through_ray_to_s3_and_mlflow(on_s3, mlflow_server, request, capsys):
    path, folder, environment = on_s3
    process = start(path, environment)
    out, err = process.communicate(timeout=500)
    assert process.returncode == 0, err
    facts = json.loads(out)  # one object, whatever Ray and MLflow have to say
    assert (facts["complete"], facts["expected"], facts["duplicates"], facts["failed"]) == (True, 24, 0, 0)
    assert facts["tracked"]["cells_logged"] == 4
    assert "Set ray log level" not in err
    assert environment["AWS_SECRET_ACCESS_KEY"] not in out + err
    assert_committed_once(folder)
    logged = Logged(mlflow_server.uri, request.node.name)
    logged.assert_complete()
    before = {name: folder.store.read_bytes(name) for name in folder.store.list("solved/")}
    capsys.readouterr()
    assert run("sweep", path, "--json") == 0
    again = json.loads(capsys.readouterr().out)
    assert (again["tracked"]["cells_logged"], again["tracked"]["cells_skipped"]) == (0, 4)
    assert again["tracked"]["parent_run_id"] == facts["tracked"]["parent_run_id"]
    assert {name: folder.store.read_bytes(name) for name in folder.store.list("solved/")} == before
    repeated = Logged(mlflow_server.uri, request.node.name)
    assert repeated.points() == logged.points()
    assert (len(repeated.parents), len(repeated.children)) == (1, 4)


@pytest.mark.slow
def test_mlflow_that_stays_away_costs_no_result_and_track_finishes(on_s3, mlflow_server, request, capsys):
    path, folder, environment = on_s3
    process = start(path, environment | {PATIENCE: "1"})
    wait_for_a_shard(folder, process)
    mlflow_server.stop()
    out, err = process.communicate(timeout=500)
    mlflow_server.start()
    assert process.returncode == 2
    facts = json.loads(out)
    assert (facts["complete"], facts["failed"], facts["tracked"]) == (True, 0, None)
    said = err.splitlines()[-1]
    assert said.startswith(f"g2d2 sweep: MLflow at {mlflow_server.uri} failed (")
    assert said.endswith(f"results are complete in {folder.url}, and `g2d2 track {folder.url}` finishes the logging.")
    assert_committed_once(folder)
    capsys.readouterr()
    assert run("track", folder.url) == 0
    assert "4 cells logged, 0 were there already" in capsys.readouterr().out
    Logged(mlflow_server.uri, request.node.name).assert_complete()


@pytest.mark.slow
def test_mlflow_that_comes_back_is_waited_for(on_s3, mlflow_server, request):
    path, folder, environment = on_s3
    process = start(path, environment | {PATIENCE: "400"})
    wait_for_a_shard(folder, process)
    mlflow_server.stop()
    complained = next(line for line in process.stderr if "does not answer" in line)
    mlflow_server.start()
    out, err = process.communicate(timeout=500)
    assert process.returncode == 0, err
    assert f"MLflow at {mlflow_server.uri} does not answer" in complained
    assert json.loads(out)["tracked"]["cells_logged"] == 4
    Logged(mlflow_server.uri, request.node.name).assert_complete()


def unused_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


WRONG = {
    "secret": ("the secret key is wrong; correct AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE.", 1),
    "bucket": ("the bucket does not exist; create it or correct its name.", 1),
    "endpoint": ("cannot be reached; start it, correct AWS_ENDPOINT_URL, or wait longer with", 2),
}


@pytest.mark.parametrize("command", ["sweep", "plan", "status"])
@pytest.mark.parametrize("wrong", WRONG)
def test_a_store_that_refuses_is_told_in_one_sentence(
    command, wrong, s3_server, s3_env, small_manifest, tiny_prior, tmp_path, monkeypatch, capsys
):
    secret = "planted-wrong-secret" if wrong == "secret" else s3_env["AWS_SECRET_ACCESS_KEY"]
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", secret)
    monkeypatch.setenv("G2D2_STORE_RETRY_SECONDS", "0.5")
    if wrong == "endpoint":
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{unused_port()}")
    output = f"s3://{'no-such-bucket' if wrong == 'bucket' else s3_server.bucket}/refused"
    path = write_spec(tmp_path / "spec.yaml", specification(small_manifest, tiny_prior, output))
    capsys.readouterr()
    assert run(command, output if command == "status" else path) == 2
    printed = capsys.readouterr()
    sentence, lines = WRONG[wrong]
    said = printed.err.splitlines()
    assert said[-1].startswith(f"g2d2 {command}: store {output}")
    assert sentence in said[-1]
    assert len(said) <= lines  # a first line may say that it tries again
    assert not any(word in printed.out + printed.err for word in (secret, "Traceback"))


def test_a_measurement_store_that_refuses_is_told_too(s3_server, s3_env, tiny_prior, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "planted-wrong-secret")
    values = specification(f"s3://{s3_server.bucket}/manifest", tiny_prior, tmp_path / "o")
    assert run("sweep", write_spec(tmp_path / "spec.yaml", values)) == 2
    said = capsys.readouterr().err
    assert "the secret key is wrong" in said
    assert "planted" not in said


def test_results_in_a_bucket_without_a_tracking_address_are_refused_at_once(
    s3_server, s3_env, small_manifest, tiny_prior, tmp_path, monkeypatch, capsys
):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    output = f"s3://{s3_server.bucket}/untracked"
    values = specification(small_manifest, tiny_prior, output, tracking={})
    assert run("sweep", write_spec(tmp_path / "spec.yaml", values)) == 2
    assert f"tracking.uri is not set, and results in {output} need it" in capsys.readouterr().err
    assert SweepFolder(output).store.list() == []
