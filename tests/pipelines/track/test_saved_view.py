"""The view that MLflow opens with: the table of cells, and charts of quality over what varies."""

import json
import math
from itertools import pairwise

import pytest

from pipelines.score.stored_sweep import StoredSweep
from pipelines.storage.sweep_folder import SweepFolder
from pipelines.track import track_folder
from pipelines.track.charts import chart_states
from tests.pipelines.track.logged_runs import charts_of, mlflow_client, runs_of


def test_a_saved_view_shows_the_cells_with_what_varies_and_the_means(sweep):
    """In the form in which MLflow's page stores and reads its own."""
    from mlflow import MlflowClient

    tracked = track_folder(sweep.url)
    client = MlflowClient(f"sqlite:///{sweep.url}/mlflow.db")
    experiment = client.get_experiment_by_name("g2d2")
    (key,) = [name for name in experiment.tags if name.startswith("mlflow.sharedViewState.")]
    view = json.loads(experiment.tags[key])
    state = json.loads(view["state"])
    assert view["name"] == "tiny"
    assert state["selectedColumns"][:4] == ["params.`task`", "params.`arm`", "params.`eta_kl`", "metrics.`psnr`"]
    assert (state["orderByKey"], state["orderByAsc"]) == ("metrics.`psnr`", False)
    found = client.search_runs([experiment.experiment_id], state["searchFilter"])
    assert sorted(run.info.run_name for run in found) == sorted(runs_of(sweep, tracked)[1])
    assert f"viewStateShareKey={key.removeprefix('mlflow.sharedViewState.')}" in tracked.where()


def test_the_charts_begin_with_quality_over_what_varies_task_by_task(make_sweep):
    sweep = make_sweep(tasks=["sr4-32", "gaussian-deblur-32"])
    tracked = track_folder(sweep.url)
    _, children = runs_of(sweep, tracked)
    from mlflow import MlflowClient

    tags = MlflowClient(f"sqlite:///{sweep.url}/mlflow.db").get_experiment_by_name("g2d2").tags
    state = json.loads(json.loads(next(v for k, v in tags.items() if k.startswith("mlflow.sharedView")))["state"])
    assert [one["name"] for one in state["compareRunSections"]] == ["gaussian-deblur-32", "sr4-32"]
    first = state["compareRunCharts"][0]
    assert (first["displayName"], first["xaxis"]) == ("psnr over eta_kl", {"key": "eta_kl", "type": "PARAM"})
    assert "compareRunsMode=CHART" in tracked.where()
    for name, child in children.items():
        own = name.partition(",")[0] + "/psnr"
        assert child.data.metrics[own] == child.data.metrics["psnr"]
        drawn = [
            card["yaxis"]["key"] for card in state["compareRunCharts"] if card["yaxis"]["key"] in child.data.metrics
        ]
        assert drawn == [own, own.replace("psnr", "ssim")]  # what is drawn of other tasks, it lacks


def test_every_arm_has_a_plane_of_its_own_cells(make_sweep):
    """Cells of two arms lie at the same places of a plane, where the last would hide the first."""
    sweep = make_sweep(cross={"gamma": [0.1, 0.3]})
    _, children = runs_of(sweep, track_folder(sweep.url))
    planes = [card for card in charts_of(sweep) if card["type"] == "CONTOUR"]
    assert [card["displayName"] for card in planes[:2]] == [
        "psnr of star over eta_kl and gamma", "psnr of markov over eta_kl and gamma",
    ]  # fmt: skip
    for card in planes:
        drawn = [child for child in children.values() if card["zaxis"]["key"] in child.data.metrics]
        places = {(child.data.params["eta_kl"], child.data.params["gamma"]) for child in drawn}
        assert len(drawn) == len(places) == 4
    star = children["sr4-32, star, eta_kl=0.001, gamma=0.3"].data.metrics
    assert star["sr4-32/star/psnr"] == star["psnr"]
    assert not [name for name in star if "markov" in name]


def test_no_plane_is_drawn_where_further_settings_vary(make_sweep):
    sweep = make_sweep(cross={"gamma": [0.1, 0.3], "learning_rate": [5.0, 10.0]}, process=["star"])
    _, children = runs_of(sweep, track_folder(sweep.url))
    assert {card["type"] for card in charts_of(sweep)} == {"SCATTER"}
    assert not [name for child in children.values() for name in child.data.metrics if "/" in name]


def test_planes_go_before_metrics_and_these_before_settings(make_sweep):
    record = StoredSweep.read(SweepFolder(make_sweep(cross={"gamma": [0.1, 0.3]}).url)).record
    *states, none = chart_states(record)
    titles = [[card["displayName"] for card in state["compareRunCharts"]] for state in states]
    left = [sorted(set(more) - set(fewer)) for more, fewer in pairwise([*titles, []])]
    assert none == {}
    assert left == [
        ["ssim of markov over eta_kl and gamma"], ["ssim of star over eta_kl and gamma"],
        ["psnr of markov over eta_kl and gamma"], ["psnr of star over eta_kl and gamma"],
        ["ssim over gamma"], ["ssim over eta_kl"], ["psnr over gamma"], ["psnr over eta_kl"],
    ]  # fmt: skip


def test_runs_that_are_logged_get_what_charts_of_an_extended_grid_need(make_sweep, history):
    sweep = make_sweep(process=["star"], cross={"gamma": [0.1, 0.3]})
    first = runs_of(sweep, track_folder(sweep.url))[1]
    assert not [name for child in first.values() for name in child.data.metrics if "/" in name]
    sweep.process = ["star", "markov"]
    assert track_folder(sweep.write().url).cells_logged == 4
    _, children = runs_of(sweep, track_folder(sweep.url))
    for name in first:
        assert children[name].data.metrics["sr4-32/star/psnr"] == first[name].data.metrics["psnr"]
    assert [key for _, key, *_ in history(sweep)["metrics"]].count("sr4-32/star/psnr") == 4


# of 12 settings what a cell has, and what one other has of each
SETTINGS = {
    "eta_kl": (0.0003, 0.001), "gamma": (0.3, 0.1), "learning_rate": (10.0, 5.0), "lambda_kl": (2.0, 1.0),
    "lambda_lr": (1.0, 0.5), "guidance": (5.0, 2.0), "temperature": (1.0, 0.5), "discrepancy": (0.0, 1.0),
    "steps": (25, 50), "iterations": (30, 15), "memory_kept": (1.0, 0.5), "top_p": (1.0, 0.5),
}  # fmt: skip


def test_of_too_many_charts_those_that_fit_are_saved(make_sweep):
    """Planes are left out first, then later metrics, in all tasks alike: MLflow refuses a longer tag."""
    from mlflow.utils.validation import MAX_EXPERIMENT_TAG_VAL_LENGTH as MOST

    tasks = ["sr4-32", "gaussian-deblur-32", "inpaint-box-32", "inpaint-random-32"]
    first = {name: values[0] for name, values in SETTINGS.items()}
    points = [first, *(first | {name: values[1]} for name, values in SETTINGS.items())]
    sweep = make_sweep(tasks=tasks, points=points, sources=1, tracking={"panels": 0}, settings={})
    tracked = track_folder(sweep.url)
    assert tracked.cells_logged == 4 * 13
    tags = mlflow_client(sweep).get_experiment_by_name("g2d2").tags
    view = next(value for key, value in tags.items() if key.startswith("mlflow.sharedView"))
    cards = json.loads(json.loads(view)["state"])["compareRunCharts"]
    assert 0.8 * MOST < len(view) <= MOST
    assert {card["type"] for card in cards} == {"SCATTER"}
    drawn = {task: [card["displayName"] for card in cards if task in card["metricSectionId"]] for task in tasks}
    assert len({tuple(titles) for titles in drawn.values()}) == 1
    assert drawn["sr4-32"][0] == "psnr over eta_kl"


def test_a_view_that_the_server_refuses_costs_nothing_else(sweep, monkeypatch, caplog):
    from mlflow import MlflowClient
    from mlflow.exceptions import MlflowException

    def refuse(*args):
        raise MlflowException("the tag is too long")

    monkeypatch.setattr(MlflowClient, "set_experiment_tag", refuse)
    tracked = track_folder(sweep.url)
    assert tracked.cells_logged == 4
    assert "no view of it is saved: MLflow at" in caplog.text
    assert "viewStateShareKey" not in tracked.where()


def test_settings_over_orders_of_magnitude_are_drawn_by_their_logarithm(make_sweep):
    sweep = make_sweep(eta_kl=[0.0003, 0.001])
    first = runs_of(sweep, track_folder(sweep.url))[1]
    assert not [name for run in first.values() for name in run.data.params if name.startswith("log10")]
    sweep.eta_kl = [0.0003, 0.001, 0.01]
    sweep.write()
    tracked = track_folder(sweep.url)
    _, children = runs_of(sweep, tracked)
    for child in children.values():
        assert float(child.data.params["log10 eta_kl"]) == pytest.approx(math.log10(float(child.data.params["eta_kl"])))
    first_card = charts_of(sweep)[0]
    assert (first_card["displayName"], first_card["xaxis"]["key"]) == ("psnr over eta_kl", "log10 eta_kl")
