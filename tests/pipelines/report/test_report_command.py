"""`g2d2 report` on a sweep's folder: page, figures, tables, exit codes, local and in a bucket."""

import io
import json
import re
import uuid

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image

from eval.report import render_page
from eval.report.chart_rows import curve_rows
from eval.report.figure_files import figures
from pipelines.plan.race_record import read_plan
from pipelines.report import PAGE, read_report, render_report
from pipelines.report.picture_reader import PictureReader
from pipelines.report.traces import load_trace, read_traces
from pipelines.score.stored_sweep import StoredSweep
from pipelines.storage import open_store
from pipelines.storage.sweep_folder import SweepFolder
from tests.pipelines.sweep_cases import run
from tests.pipelines.track.conftest import FakeSweep


@pytest.fixture
def sweep(tmp_path):
    return FakeSweep(tmp_path, tasks=["sr4-32", "gaussian-deblur-32"], sources=5).write()


def read(sweep):
    return StoredSweep.read(SweepFolder(sweep.url))


def values(page):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)[1])


def test_the_page_lands_in_the_sweep(sweep, capsys):
    assert run("report", sweep.url, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    page = open_store(sweep.url).read_bytes(PAGE).decode()
    assert told["page"].endswith(PAGE)
    assert (told["expected"], told["scored"], told["missing"]) == (40, 40, 0)
    assert "star beats markov" not in page  # five images cannot show it for all metrics: ssim is the same
    assert "super_resolution, factor 4" in page
    assert "a-private-host" not in page
    assert "Some GPU" in page
    shown = values(page)
    band = next(one["to"] - 1 for one in shown["datasets"]["residuals"] if one["task"] == "sr4-32")
    assert band == pytest.approx(2 * (2 * 3 * 8 * 8) ** -0.5)
    row = shown["rows"][0]
    name = row["measurement"]
    keys = [f"truth/{name}", f"y/{name}", *(f"{cell}/{name}/0" for cell in row["values"])]
    assert all(shown["images"][key].startswith("data:image/png") for key in keys)


def test_figures_and_tables_are_written(tmp_path):
    sweep = FakeSweep(tmp_path, sources=4).write()
    where = ["--out", tmp_path / "p.html", "--figures", tmp_path / "f", "--tables", tmp_path / "t"]
    assert run("report", sweep.url, *where) == 0
    assert (tmp_path / "p.html").read_text().startswith("<!doctype html>")
    assert not open_store(sweep.url).exists(PAGE)
    names = {path.name for path in (tmp_path / "f").iterdir()}
    assert {"contrasts.png", "contrasts.pdf", "marginal-sr4-32-psnr-eta_kl.png"} <= names
    assert (tmp_path / "f" / "pareto-sr4-32-psnr.pdf").read_bytes().startswith(b"%PDF")
    latex, markdown = ((tmp_path / "t" / f"cells.{kind}").read_text() for kind in ("tex", "md"))
    assert r"\toprule" in latex
    assert r"eta\_kl" in latex
    assert len([line for line in latex.splitlines() if line.endswith(r"\\")]) == 1 + 4
    assert markdown.count("\n|") == 2 + 4


def test_failures_are_told_and_change_the_exit_code(tmp_path, capsys):
    sweep = FakeSweep(tmp_path, failed={1}).write()
    assert run("report", sweep.url) == 1
    assert "4 failed" in capsys.readouterr().out
    page = open_store(sweep.url).read_bytes(PAGE).decode()
    assert "it failed" in page
    assert "complete, 4 failed" in page


def test_a_sweep_without_its_manifest_still_has_a_report(sweep):
    store = open_store(str(sweep.root / "manifest"))
    for name in store.list():
        store.delete(name)
    report = read_report(read(sweep))
    assert "truths and measurements are not shown" in report.facts.notes[0]
    assert not any(key.startswith("truth/") for key in report.pictures.images)
    assert report.pictures.rows


def test_an_unfinished_sweep_says_so(sweep):
    folder = SweepFolder(sweep.url)
    summary = folder.read_summary()
    name = folder.table_name(summary["plan"], summary["scoring"])
    scores = folder.store.read_table(name)
    folder.store.delete(name)
    shard = read_plan(folder).shards[0]
    folder.store.write_table(folder.scores_name(summary["scoring"], shard.name), scores.slice(0, shard.count))
    assert run("report", sweep.url) == 2
    assert f"not complete: {40 - shard.count} of 40 missing" in folder.store.read_bytes(PAGE).decode()


def test_pictures_stay_within_their_budget(sweep):
    folder = SweepFolder(sweep.url)
    report = read_report(read(sweep))
    assert report.pictures.left_out == 0
    reader = PictureReader(folder, read_plan(folder), None)
    some = reader.read(report.record, budget=1000)
    assert sum(map(len, some.images.values())) <= 1000
    assert 0 < len(some.rows) < len(report.pictures.rows)
    assert some.left_out == len(report.pictures.rows) - len(some.rows)


def test_where_two_cells_differ_most_their_pictures_are_kept(tmp_path):
    """The best of each arm at first, and those that are asked for; of measurements that are neither worst nor best."""
    planted = {(0.001, "markov", 20): 3.0, (0.0003, "star", 21): 3.0, (0.001, "star", 20): 44.0}
    sweep = FakeSweep(tmp_path, sources=30, psnr=planted).write()
    report = read_report(read(sweep))
    shown = {row.measurement for row in report.pictures.rows}
    cells = {cell.label: cell.id for cell in report.record.cells}
    pair = [cells["star, eta_kl=0.001"], cells["markov, eta_kl=0.001"]]
    asked = read_report(read(sweep), pair)
    (name,) = {key.split("/", 1)[1] for key in asked.pictures.images if key.startswith("truth/") and "0020" in key}
    assert name not in shown
    assert all(f"{cell}/{name}/0" in asked.pictures.images for cell in pair)
    assert values(render_page(asked).decode())["explored"][0]["best"] == pair


def test_a_cell_that_is_asked_for_is_shown(sweep):
    cells = [cell.id for cell in read_report(read(sweep)).record.cells]
    report = read_report(read(sweep), cells)
    assert {cell for row in report.pictures.rows for cell in row.values} == set(cells)
    assert run("report", sweep.url, "--cells", "nonsense") == 2


def test_kept_traces_become_curves(sweep):
    _keep_traces(sweep)
    report = read_report(read(sweep))
    cells = {cell.id: cell for cell in report.record.cells}
    shown = [(cells[curves.cell].task, cells[curves.cell].arm) for curves in report.traces]
    assert shown == [(task, name) for task in report.record.tasks for name in ("star", "star", "markov", "markov")]
    curves = report.traces[0]
    assert {f"truth/{curves.measurement}", f"y/{curves.measurement}"} <= report.pictures.images.keys()
    assert curves.rows == 5
    assert curves.curves["total"] == pytest.approx([2.0, 1.0, 1.0, 0.5])
    assert list(curves.curves) == ["total", "likelihood", "kl", "remasked", "masked"]
    assert [level for level, _ in curves.snapshots] == [2, 1]
    assert all(key in report.pictures.images for _, key in curves.snapshots)


def test_snapshots_share_the_budget_of_all_pictures(sweep):
    _keep_traces(sweep, levels=40)
    folder = SweepFolder(sweep.url)
    report = read_report(read(sweep))
    for curves in report.traces:
        levels = [level for level, _ in curves.snapshots]
        assert (len(levels), levels[0], levels[-1], curves.snapshots_kept) == (12, 40, 1, 40)
        assert max(np.diff(levels)) - min(np.diff(levels)) <= 1
    reader = PictureReader(folder, read_plan(folder), None)
    one = len(report.pictures.images[report.traces[0].snapshots[0][1]])
    images = {"gallery": bytes(100)}
    traces = read_traces(reader, report.record, images, budget=100 + 28 * one)
    assert [len(curves.snapshots) for curves in traces] == [3, 3, 3, 3, 4, 4, 4, 4]
    assert sum(map(len, images.values())) <= 100 + 28 * one
    assert [len(curves.snapshots) for curves in read_traces(reader, report.record, {}, budget=0)] == [0] * 8
    assert '"snapshots_kept":40' in render_report(sweep.url).decode()


def test_a_methods_own_curves_and_snapshots_are_shown_by_their_names(sweep):
    _keep_traces(sweep, curves={"residual": [4.0, 2.0, 1.0], "levels": [3, 2, 1]}, snapshot="snapshot")
    report = read_report(read(sweep))
    assert {(tuple(one.curves), tuple(one.levels)) for one in report.traces} == {(("residual",), (3, 2, 1))}
    assert [level for level, _ in report.traces[0].snapshots] == [2, 1]
    assert '<figure class="chart" data-name="curve/residual"></figure>' in render_report(sweep.url).decode()


def test_a_spread_is_a_map_beside_its_reconstruction_and_no_curve(sweep):
    spread = np.zeros((3, 32, 32), np.float32)
    spread[:, :, 16:] = 0.5
    _keep_traces(sweep, curves={"total": [4.0, 2.0, 1.0], "iterations": [2, 1], "levels": [2, 1], "spread": spread})
    report = read_report(read(sweep))
    one = report.traces[0]
    assert (list(one.curves), one.iterations) == (["total"], [2, 1])
    assert [name for name, _ in one.beside] == ["reconstruction", "spread"]
    picture, shown = (Image.open(io.BytesIO(report.pictures.images[key])).convert("RGB") for _, key in one.beside)
    assert picture.size == shown.size == (32, 32)
    assert shown.getpixel((4, 4)) == (0, 0, 0)
    assert shown.getpixel((28, 4)) == (255, 255, 255)
    assert "snapshots-" in " ".join(name for name, _ in figures(report))
    steps = [row["step"] for row in curve_rows(report) if row["cell"] == one.cell]
    assert steps == [0.5, 1.0, 2.0]
    assert all(key in render_report(sweep.url).decode() for _, key in one.beside)


def test_snapshots_that_nobody_looks_at_are_not_read():
    buffer = io.BytesIO()
    np.savez(buffer, residual=[1.0], levels=[1], snapshot_1=np.zeros(3), prior_sample_2=np.zeros(3))
    assert set(load_trace(buffer.getvalue(), snapshots=False)) == {"residual", "levels"}
    assert len(load_trace(buffer.getvalue())) == 4


def _keep_traces(sweep, levels=2, curves=None, snapshot="prior_sample"):
    buffer = io.BytesIO()
    losses = np.array([[2.0, 1.0], [1.0, 0.5]])
    known = {
        "total": losses,
        "likelihood": losses,
        "kl": losses,
        "remasked": [0, 3],
        "masked": [9, 4],
        "levels": [2, 1],
    }
    sample = np.zeros((3, 32, 32), np.float32)
    np.savez(buffer, **curves or known, **{f"{snapshot}_{level}": sample for level in range(1, levels + 1)})
    folder = SweepFolder(sweep.url)
    summary = folder.read_summary()
    summary["specification"]["keep"]["traces"] = True
    folder.write_summary(summary)
    for shard in folder.solved_shards():
        table = folder.read_solved(shard)
        place = table.column_names.index("trace")
        traces = pa.array([buffer.getvalue()] * len(table), pa.binary())
        folder.store.write_table(folder.solved_name(shard), table.set_column(place, "trace", traces))


def test_a_folder_without_a_sweep_is_refused(tmp_path, capsys):
    assert run("report", tmp_path) == 2
    assert "there is no sweep here" in capsys.readouterr().err


def test_a_bucket_gives_the_same_page(sweep, s3_env):
    local, bucket = open_store(sweep.url), open_store(f"s3://g2d2/{uuid.uuid4().hex}")
    for name in local.list():
        bucket.write_bytes(name, local.read_bytes(name))
    assert run("report", bucket.url()) == 0
    page = bucket.read_bytes(PAGE).decode()
    assert values(page) == values(render_report(sweep.url).decode())


def test_the_parent_run_is_given_the_page(sweep):
    from pipelines.track.sweep_run import sweep_content

    artifacts = sweep_content(read(sweep), []).artifacts()
    assert artifacts["report.html"].startswith(b"<!doctype html>")


def test_a_page_that_breaks_does_not_cost_the_logging(sweep, monkeypatch):
    from pipelines.track.sweep_run import sweep_content

    monkeypatch.setattr("pipelines.report.render_page", lambda *_: 1 / 0)
    artifacts = sweep_content(read(sweep), []).artifacts()
    assert artifacts["no-report.txt"] == b"ZeroDivisionError: division by zero"
    assert "spec.yaml" in artifacts
