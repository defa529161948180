"""A sweep becomes one parent run and a child run per cell, each logged once however often it is tried."""

import csv
import io
import json
import re
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

import numpy as np
import pyarrow as pa
import pytest
import yaml
from PIL import Image

from pipelines.score.features import DISTANCES
from pipelines.storage.sweep_folder import SweepFolder
from pipelines.track import TrackingError, sweep_run, track_folder
from pipelines.track.runs import Runs
from tests.pipelines.sweep_cases import run
from tests.pipelines.track.logged_runs import artifact, mlflow_client, runs_of
from tests.test_docs import ROOT


def test_a_cell_is_a_run_with_its_settings_means_and_intervals(sweep):
    tracked = track_folder(sweep.url)
    assert (tracked.cells_logged, tracked.cells_skipped) == (4, 0)
    parent, children = runs_of(sweep, tracked)
    assert set(children) == {f"sr4-32, {p}, eta_kl={e}" for p in ("star", "markov") for e in ("0.0003", "0.001")}
    run = children["sr4-32, star, eta_kl=0.0003"]
    assert run.info.status == "FINISHED"
    assert run.data.tags["mlflow.parentRunId"] == parent.info.run_id
    assert run.data.params["eta_kl"] == "0.0003"
    assert run.data.params["task"] == "sr4-32"
    for facts in (run.data.params, run.data.tags):
        assert (facts["arm"], facts["method"], facts["prior"]) == ("star", "g2d2", "cifar10")
    assert run.data.params["steps"] == "25"
    metrics = run.data.metrics
    assert metrics["psnr"] == pytest.approx(22)
    assert 19 < metrics["psnr_low"] < 22 < metrics["psnr_high"] < 25  # Student's t, of three
    assert (metrics["count"], metrics["failed"], metrics["seconds"]) == (3, 0, 2)
    assert not [name for name in metrics if name.startswith(("non_finite", "seconds_"))]


def test_the_panel_shows_the_first_measurements(sweep):
    _, children = runs_of(sweep, track_folder(sweep.url))
    run = children["sr4-32, markov, eta_kl=0.0003"]  # the third cell, whose reconstructions have shade 140
    sheet = np.asarray(Image.open(io.BytesIO(artifact(run, "panel.png"))))
    assert sheet.shape == (18 + 2 * (18 + 128) + 8, 3 * 128 + 2 * 8, 3)
    top = 2 * 18  # what the columns are, which measurement it is
    assert sheet[top + 64, 64, 0] == 80  # truth of measurement 0
    assert sheet[top + 64 + 154, 64, 0] == 81  # truth of measurement 1
    assert sheet[top + 64, 136 + 64, 0] == 64  # its measurement, -0.5 everywhere
    assert sheet[top + 64, 272 + 64, 0] == 140
    for left in (0, 136, 272):
        assert sheet[:18, left : left + 60].min() < 100  # a word above every column
    assert "sr4-32/0000, sr4-32/0001" in run.data.tags["mlflow.note.content"]


def test_a_cell_shows_those_of_the_first_measurements_that_it_solved(sweep):
    sweep.failed = {0}
    _, children = runs_of(sweep, track_folder(sweep.write().url))
    for child in children.values():
        assert child.data.tags["mlflow.note.content"].endswith("reconstruction of sr4-32/0001.")
        assert [row[0] for row in json.loads(artifact(child, "measurements.json"))["data"]] == ["sr4-32/0001"]


def test_a_cell_points_at_no_files_that_are_not_there(sweep):
    sweep.failed = {0, 1}  # the two that would be shown
    _, children = runs_of(sweep, track_folder(sweep.write().url))
    for child in children.values():
        assert child.info.status == "FINISHED"
        assert "mlflow.loggedArtifacts" not in child.data.tags
        assert "panel.png" not in child.data.tags["mlflow.note.content"]
        assert not {"panel.png", "measurements.json"} & set(known_files(child))


def known_files(run):
    folder = Path(unquote(urlsplit(run.info.artifact_uri).path))
    return [path.name for path in folder.iterdir()] if folder.exists() else []


def test_the_parent_says_what_was_swept_and_what_came_out(sweep):
    parent, _ = runs_of(sweep, track_folder(sweep.url))
    assert parent.info.run_name == "tiny"
    assert parent.data.params == {"dtype": "float32"}  # an arm that is added may bring another method or prior
    assert {name: parent.data.tags[name] for name in ("method", "prior_digest", "arms")} == {
        "method": "g2d2", "prior_digest": "a-prior-digest", "arms": "star, markov",
    }  # fmt: skip
    tags = parent.data.tags
    assert (tags["arms"], tags["baseline"], tags["varied"]) == ("star, markov", "markov", "eta_kl")
    assert tags["headline"].startswith("star and markov are not compared: 3 measurements")
    assert "steps=25" in tags["settings"].split()
    assert (tags["devices"], tags["torch"], tags["prior"]) == ("Some GPU", "2.13.0", "cifar10")
    metrics = parent.data.metrics
    assert (metrics["items"], metrics["failed"], metrics["missing"], metrics["cells"]) == (12, 0, 0, 4)
    assert metrics["best_psnr/sr4-32"] == pytest.approx(22)
    assert yaml.safe_load(artifact(parent, "spec.yaml"))["grid"]["cross"]["eta_kl"] == [0.0003, 0.001]
    rows = list(csv.DictReader(io.StringIO(artifact(parent, "contrasts.csv").decode())))
    points = [row for row in rows if row["kind"] == "same settings"]
    first = next(row for row in points if row["metric"] == "psnr")
    assert (first["task"], first["a"], first["b"]) == ("sr4-32", "star", "markov")
    assert (first["cell_a"], first["cell_b"]) == ("star, eta_kl=0.0003", "markov, eta_kl=0.0003")
    assert (float(first["difference"]), int(first["pairs"])) == (pytest.approx(1), 3)
    assert {row["corrected_over"] for row in points} == {str(len(points))}
    assert first["verdict"] == "too few images to tell"
    best = [row for row in rows if row["kind"] == "best of grid"]
    assert [row["metric"] for row in best] == ["psnr", "ssim"]
    assert all(row["verdict"].startswith("not compared: 3 measurements cannot both choose") for row in best)


def test_the_page_names_the_params_and_what_starts_a_new_parent(sweep, history):
    first = track_folder(sweep.url)
    (row,) = re.findall(r"^\| params \| `(\w+)`.*? \|", (ROOT / "docs" / "tracking.md").read_text(), flags=re.MULTILINE)
    assert [row] == [*runs_of(sweep, first)[0].data.params]
    sweep.prior_digest, sweep.psnr = "other-files", {(0.0003, "star", 0): 1.0}
    again = track_folder(sweep.write().url)
    assert (again.parent_run_id, again.cells_logged, len(history(sweep)["runs"])) == (first.parent_run_id, 1, 5)
    sweep.resources = {"dtype": "bfloat16", "compile": True}
    assert track_folder(sweep.write().url).parent_run_id != first.parent_run_id
    known = [value for _, key, value in history(sweep)["params"] if key == "dtype"]
    assert sorted(known) == ["bfloat16 compile", "float32"]


def test_what_was_tuned_for_task_and_arm_stays_out_of_names(make_sweep):
    """Star and Markov have their own gamma there, which the grid does not vary."""
    sweep = make_sweep(tasks=["sr4-32", "gaussian-deblur-32"], preset="tuned", settings={})
    parent, children = runs_of(sweep, track_folder(sweep.url))
    assert "gaussian-deblur-32, star, eta_kl=0.001" in children
    assert not [name for name in children if "gamma" in name or "learning_rate" in name]
    assert children["gaussian-deblur-32, star, eta_kl=0.001"].data.params["gamma"] == "0.3"
    tags = parent.data.tags
    assert tags["varied"] == "eta_kl"
    assert set(tags["set_per_arm"].split(", ")) == {"process", "gamma", "learning_rate"}
    assert not {"gamma", "eta_kl"} & {word.partition("=")[0] for word in tags["settings"].split()}


def test_a_long_description_keeps_its_links_and_says_what_it_leaves_out(sweep, monkeypatch):
    whole = sweep_run.best_table

    def long(record):
        table = whole(record)
        return replace(table, rows=table.rows * 60)

    monkeypatch.setattr(sweep_run, "best_table", long)
    parent, children = runs_of(sweep, track_folder(sweep.url))
    note = parent.data.tags["mlflow.note.content"]
    assert 7500 < len(note) <= 8000
    left = int(re.search(r"\nand (\d+) more, in report.html\n", note)[1])
    assert note.count("| sr4-32 |") + left == 120
    assert all(f"/runs/{child.info.run_id}?" in note for child in children.values())


def test_a_table_of_the_fixed_measurements_is_there_once_however_often_it_is_logged(sweep):
    def table(name="sr4-32, star, eta_kl=0.0003"):
        run = runs_of(sweep, track_folder(sweep.url))[1][name]
        listed = json.loads(run.data.tags["mlflow.loggedArtifacts"])
        assert listed == [{"path": "measurements.json", "type": "table"}]
        return run, json.loads(artifact(run, "measurements.json"))

    run, first = table()
    assert first["columns"] == ["measurement", "output", "psnr", "ssim", "residual"]
    assert [(row[0], row[2]) for row in first["data"]] == [("sr4-32/0000", 21.0), ("sr4-32/0001", 22.0)]
    picture = Image.open(io.BytesIO(artifact(run, first["data"][0][1]["filepath"])))
    assert picture.size == (3 * 128 + 2 * 8,) * 2  # a square, of which MLflow shows the upper half
    shades = np.asarray(picture.convert("L"))
    assert (shades[: picture.height // 2, :128] == 40).any(axis=1).sum() >= 128
    assert (shades[picture.height // 2 + 10 :] == 255).all()
    assert (shades[:20] < 128).any()  # scores
    sweep.psnr = {(0.0003, "star", 0): 25.0}
    sweep.write()
    assert [row[2] for row in table()[1]["data"]] == [25.0, 22.0]


def test_metrics_say_on_which_data_and_of_which_prior_they_are(sweep):
    parent, children = runs_of(sweep, track_folder(sweep.url))
    client, digest = mlflow_client(sweep), SweepFolder(sweep.url).read_summary()["manifest_digest"]
    (model,) = client.search_logged_models([parent.info.experiment_id])
    assert (model.name, model.tags["prior_digest"], model.model_type) == ("cifar10", "a-prior-digest", "prior")
    for one in (parent, *children.values()):
        inputs = client.get_run(one.info.run_id).inputs  # a search leaves models out
        (data,) = inputs.dataset_inputs
        assert (data.dataset.name, data.dataset.digest) == ("manifest", digest[:36])
        assert [known.model_id for known in inputs.model_inputs] == [model.model_id]
    psnr = [one for one in model.metrics if one.key == "psnr"]
    assert {one.run_id for one in psnr} == {child.info.run_id for child in children.values()}
    assert {(one.dataset_name, one.dataset_digest) for one in psnr} == {("manifest", digest[:36])}
    note = parent.data.tags["mlflow.note.content"]
    for name, child in children.items():
        assert (
            f"[{name}](#/experiments/{child.info.experiment_id}/runs/{child.info.run_id}?workflowType=machine_learning)"
            in note
        )


def test_the_searches_of_the_page_work_when_pasted(sweep):
    parent, children = runs_of(sweep, track_folder(sweep.url))
    page = (ROOT / "docs" / "tracking.md").read_text()
    (shown,) = re.findall(r"```text\n(.*?)```", page, flags=re.DOTALL)
    cells, sweeps = shown.splitlines()
    client, experiment = mlflow_client(sweep), [parent.info.experiment_id]
    found = client.search_runs(experiment, cells.replace("25", "21.5"))
    assert {run.info.run_name for run in found} == {name for name in children if "star" in name}
    found = client.search_runs(experiment, sweeps.replace("steps=100", "steps=25"))
    assert [run.info.run_id for run in found] == [parent.info.run_id]


def test_distances_are_metrics_of_their_cell(make_sweep):
    sweep = make_sweep(distribution=["fd_vgg16", "fid"])
    folder = SweepFolder(sweep.url)
    summary = folder.read_summary()
    cells = [cell.id for cell in folder.cells(summary["plan"])]
    name = folder.distances_name(summary["plan"], summary["scoring"])
    rows = [{"cell": cell, "metric": "fd_vgg16", "value": 10.0 + index} for index, cell in enumerate(cells)]
    rows += [{"cell": cell, "metric": "fid", "value": None, "unavailable": "no network"} for cell in cells]
    folder.store.write_table(name, pa.Table.from_pylist(rows, schema=DISTANCES))
    _, children = runs_of(sweep, track_folder(sweep.url))
    assert children["sr4-32, star, eta_kl=0.0003"].data.metrics["fd_vgg16"] == 10
    assert not any("fid" in run.data.metrics for run in children.values())
    assert track_folder(sweep.url).cells_logged == 0
    folder.store.write_table(name, pa.Table.from_pylist([rows[0] | {"value": 11.0}, *rows[1:]], schema=DISTANCES))
    assert track_folder(sweep.url).cells_logged == 1


def test_a_second_time_adds_nothing(sweep, history):
    first = track_folder(sweep.url)
    before = history(sweep)
    again = track_folder(sweep.url)
    assert (again.cells_logged, again.cells_skipped) == (0, 4)
    assert again.parent_run_id == first.parent_run_id
    assert history(sweep) == before


def stop_after(monkeypatch, method, calls):
    """The process dies at the n-th call of a method."""
    real = getattr(Runs, method)
    made = []

    def dying(self, *args, **kwargs):
        made.append(1)
        if len(made) > calls:
            raise KeyboardInterrupt
        return real(self, *args, **kwargs)

    monkeypatch.setattr(Runs, method, dying)


@pytest.mark.parametrize(("method", "calls"), [("_create", 3), ("_log", 2), ("_call", 1), ("_call", 6), ("_call", 15)])
def test_an_interrupted_logging_is_completed(sweep, history, monkeypatch, method, calls):
    with monkeypatch.context() as patch:
        stop_after(patch, method, calls)
        with pytest.raises(KeyboardInterrupt):
            track_folder(sweep.url)
    tracked = track_folder(sweep.url)
    assert 0 < tracked.cells_logged <= 4
    found = history(sweep)
    assert len(found["runs"]) == 5
    assert {status for _, _, status, _ in found["runs"]} == {"FINISHED"}
    points = [(run, key) for run, key, *_ in found["metrics"]]
    assert len(points) == len(set(points)) == 4 * 13 + 6
    assert all("panel.png" in known_files(run) for run in runs_of(sweep, tracked)[1].values())


def test_an_extended_grid_logs_only_the_new_cells(sweep, history):
    first = track_folder(sweep.url)
    before = history(sweep)
    sweep.eta_kl.append(0.003)
    again = track_folder(sweep.write().url)
    assert (again.cells_logged, again.cells_skipped) == (2, 4)
    assert again.parent_run_id == first.parent_run_id
    children = {run for run, *_ in before["runs"]} - {first.parent_run_id}
    kept = [point for point in history(sweep)["metrics"] if point[0] in children]
    assert kept == [point for point in before["metrics"] if point[0] in children]


def test_more_seeds_update_the_run_in_place(sweep, history):
    track_folder(sweep.url)
    sweep.seeds, sweep.psnr = [0, 1], {(0.0003, "star", 0): 1.0}  # lower than before: the latest must still win
    tracked = track_folder(sweep.write().url)
    assert tracked.cells_logged == 4
    _, children = runs_of(sweep, tracked)
    run = children["sr4-32, star, eta_kl=0.0003"]
    assert run.data.metrics["psnr"] == pytest.approx((1 + 1 + 22 + 22.1 + 23 + 23.1) / 6)
    assert run.data.metrics["count"] == 6
    points = sorted(p[3] for p in history(sweep)["metrics"] if p[0] == run.info.run_id and p[1] == "psnr")
    assert points == [0, 1]
    assert track_folder(sweep.url).cells_logged == 0


def test_a_setting_that_begins_to_vary_renames_the_runs_and_logs_nothing_again(make_sweep, history):
    sweep = make_sweep(process=["star"])
    _, children = runs_of(sweep, track_folder(sweep.url))
    assert set(children) == {"sr4-32, star, eta_kl=0.0003", "sr4-32, star, eta_kl=0.001"}
    sweep.eta_kl = [0.0003]
    tracked = track_folder(sweep.write().url)
    assert tracked.cells_logged == 0
    assert "sr4-32, star" in runs_of(sweep, tracked)[1]


def test_numbers_that_are_not_finite_are_counted_and_never_logged(sweep, history):
    sweep.psnr = {(0.0003, "star", 0): float("inf"), (0.0003, "star", 1): float("nan")}
    _, children = runs_of(sweep, track_folder(sweep.write().url))
    metrics = children["sr4-32, star, eta_kl=0.0003"].data.metrics
    assert metrics["psnr"] == pytest.approx(23)
    assert metrics["non_finite_psnr"] == 2
    assert "psnr_low" not in metrics  # one measurement is left
    assert all(np.isfinite(value) and abs(value) < 1e300 for _, _, value, *_ in history(sweep)["metrics"])
    sweep.psnr = {}
    _, children = runs_of(sweep, track_folder(sweep.write().url))
    assert children["sr4-32, star, eta_kl=0.0003"].data.metrics["non_finite_psnr"] == 0


def test_failed_items_are_counted_and_a_cell_without_results_has_failed(sweep):
    sweep.failed = {0}
    parent, children = runs_of(sweep, track_folder(sweep.write().url))
    run = children["sr4-32, star, eta_kl=0.0003"]
    assert (run.info.status, run.data.metrics["failed"], run.data.metrics["count"]) == ("FINISHED", 1, 3)
    assert (parent.info.status, parent.data.metrics["failed"]) == ("FAILED", 4)
    sweep.failed = {0, 1, 2}
    parent, children = runs_of(sweep, track_folder(sweep.write().url))
    assert {run.info.status for run in children.values()} == {"FAILED"}
    assert all(np.isfinite(value) for run in children.values() for value in run.data.metrics.values())


def test_a_run_made_twice_by_two_writers_is_dropped(sweep):
    tracked = track_folder(sweep.url)
    _, children = runs_of(sweep, tracked)
    from mlflow import MlflowClient

    client = MlflowClient(f"sqlite:///{sweep.url}/mlflow.db")
    run = children["sr4-32, star, eta_kl=0.001"]
    twin = client.create_run(run.info.experiment_id, tags=run.data.tags)
    assert track_folder(sweep.url).cells_logged == 0
    assert set(runs_of(sweep, tracked)[1]) == set(children)
    assert client.get_run(twin.info.run_id).info.lifecycle_stage == "deleted"


def test_a_lost_answer_makes_no_second_run(sweep, history, monkeypatch):
    from mlflow import MlflowClient

    monkeypatch.setenv("G2D2_TRACKING_RETRY_SECONDS", "60")
    real, lost = MlflowClient.create_run, []

    def create(self, *args, **kwargs):
        run = real(self, *args, **kwargs)
        if len(lost) < 2:
            lost.append(run)
            raise ConnectionError("the database is locked")
        return run

    monkeypatch.setattr(MlflowClient, "create_run", create)
    assert track_folder(sweep.url).cells_logged == 4
    assert len(lost) == 2
    assert len(history(sweep)["runs"]) == 5


def test_without_its_manifest_a_sweep_is_logged_without_panels(sweep, caplog):
    (Path(sweep.root) / "manifest" / "manifest.json").unlink()
    _, children = runs_of(sweep, track_folder(sweep.url))
    assert len(children) == 4
    assert "no panels are logged" in caplog.text


def test_a_damaged_database_is_told_in_one_sentence(sweep):
    Path(sweep.url, "mlflow.db").write_bytes(b"this is no database" * 100)
    with pytest.raises(TrackingError, match=f"the results are complete in {sweep.url}, and `g2d2 track {sweep.url}`"):
        track_folder(sweep.url)


@pytest.mark.parametrize("content", ["{}", "[]", '{"id": 3}', "{"])
def test_a_damaged_id_of_the_folder_is_named(content, sweep, capsys):
    file = Path(sweep.url, "tracking.json")
    file.write_text(content)
    assert run("track", sweep.url) == 2
    error = capsys.readouterr().err
    assert f"{file}: it is damaged" in error
    assert error.count("\n") == 1
