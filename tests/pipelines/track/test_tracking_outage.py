"""A real MLflow server on PostgreSQL that goes away in the middle of the logging."""

import threading

import pytest

from pipelines.track import TrackingError, server, track_folder
from pipelines.track.runs import Runs

pytestmark = pytest.mark.slow


def stop_before_second_cell(patch, mlflow_server):
    """The server goes down once, when one cell is logged."""
    real, made = Runs.complete, []

    def complete(self, run, content):
        made.append(content.key)
        if len(made) == 2:
            mlflow_server.stop()
        return real(self, run, content)

    patch.setattr(Runs, "complete", complete)


def children(mlflow_server, tracked):
    from mlflow import MlflowClient

    client = MlflowClient(mlflow_server.uri)
    experiment = client.get_experiment_by_name(tracked.experiment).experiment_id
    runs = client.search_runs([experiment], f"tags.`mlflow.parentRunId` = '{tracked.parent_run_id}'")
    points = [len(client.get_metric_history(run.info.run_id, "psnr")) for run in runs]
    panels = [[file.path for file in client.list_artifacts(run.info.run_id)] for run in runs]
    return sorted(run.info.run_name for run in runs), points, panels


FILES = ["measurements.json", "panel.png", "table_images"]
NAMES = sorted(f"sr4-32, {process}, eta_kl={eta}" for process in ("star", "markov") for eta in ("0.0003", "0.001"))


def test_a_server_that_stays_away_ends_the_logging_and_a_later_one_completes_it(sweep, mlflow_server, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", mlflow_server.uri)
    monkeypatch.setenv(server.SECONDS_VARIABLE, "1")
    with monkeypatch.context() as patch:
        stop_before_second_cell(patch, mlflow_server)
        with pytest.raises(TrackingError, match="finishes the logging"):
            track_folder(sweep.url)
    mlflow_server.start()
    monkeypatch.setenv(server.SECONDS_VARIABLE, "60")
    tracked = track_folder(sweep.url)
    assert (tracked.cells_logged, tracked.cells_skipped) == (3, 1)
    experiment = tracked.url.split("/")[-3]
    assert tracked.url == f"{mlflow_server.uri}/{server.run_path(experiment, tracked.parent_run_id)}"
    assert children(mlflow_server, tracked) == (NAMES, [1] * 4, [FILES] * 4)


def test_a_server_that_comes_back_is_waited_for(sweep, mlflow_server, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", mlflow_server.uri)
    monkeypatch.setenv(server.SECONDS_VARIABLE, "300")
    stop_before_second_cell(monkeypatch, mlflow_server)
    down = threading.Event()
    stop = mlflow_server.stop
    monkeypatch.setattr(mlflow_server, "stop", lambda: (stop(), down.set()))
    back = threading.Thread(target=lambda: down.wait() and mlflow_server.start())
    back.start()
    tracked = track_folder(sweep.url)
    back.join()
    assert down.is_set()
    assert tracked.cells_logged == 4
    assert children(mlflow_server, tracked) == (NAMES, [1] * 4, [FILES] * 4)
