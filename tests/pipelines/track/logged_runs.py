"""What MLflow holds of a sweep that was logged."""

import json
from pathlib import Path
from urllib.parse import unquote, urlsplit


def runs_of(sweep, tracked):
    from mlflow import MlflowClient

    client = MlflowClient(f"sqlite:///{sweep.url}/mlflow.db")
    experiment = client.get_experiment_by_name("g2d2").experiment_id
    runs = client.search_runs([experiment], max_results=1000)
    parent = next(run for run in runs if run.info.run_id == tracked.parent_run_id)
    children = {run.info.run_name: run for run in runs if run.info.run_id != tracked.parent_run_id}
    assert len(children) == len(runs) - 1
    return parent, children


def artifact(run, name):
    return Path(unquote(urlsplit(run.info.artifact_uri).path), name).read_bytes()


def mlflow_client(sweep):
    from mlflow import MlflowClient

    return MlflowClient(f"sqlite:///{sweep.url}/mlflow.db")


def charts_of(sweep):
    tags = mlflow_client(sweep).get_experiment_by_name("g2d2").tags
    view = next(value for key, value in tags.items() if key.startswith("mlflow.sharedView"))
    return json.loads(json.loads(view)["state"])["compareRunCharts"]
