"""Sweeps that are logged: each with a fresh database, and with no tracking address from outside."""

import shutil
import sqlite3
from pathlib import Path

import pytest

from pipelines.track import server
from tests.pipelines.fake_sweep import FakeSweep


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory):
    """MLflow takes seconds to make its tables; once is enough."""
    server.prepare_mlflow()
    from mlflow import MlflowClient

    path = tmp_path_factory.mktemp("mlflow") / "mlflow.db"
    MlflowClient(f"sqlite:///{path}").get_experiment_by_name("none")
    return path


@pytest.fixture
def make_sweep(tmp_path, monkeypatch, empty_database):
    """A written sweep with a fresh database; no tracking address reaches it from outside."""
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.setenv(server.SECONDS_VARIABLE, "0")

    def make(**changes):
        sweep = FakeSweep(tmp_path, **changes).write()
        shutil.copy(empty_database, Path(sweep.url, "mlflow.db"))
        return sweep

    return make


@pytest.fixture
def sweep(make_sweep):
    """Two processes, two values of eta_kl, three measurements."""
    return make_sweep()


@pytest.fixture
def history():
    """Every stored metric point and param of all runs, straight from the database."""

    def read(sweep):
        with sqlite3.connect(f"{sweep.url}/mlflow.db") as database:
            metrics = database.execute("select run_uuid, key, value, step, timestamp from metrics").fetchall()
            params = database.execute("select run_uuid, key, value from params").fetchall()
            runs = database.execute("select run_uuid, name, status, lifecycle_stage from runs").fetchall()
        return {"metrics": sorted(metrics), "params": sorted(params), "runs": sorted(runs)}

    return read
