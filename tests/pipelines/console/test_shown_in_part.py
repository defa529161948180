"""What is not over all images of a cell is nowhere shown as if it were: distances, and the measurement's own row."""

import math

import numpy as np
import pyarrow as pa
import pytest

from pipelines.report import PAGE
from pipelines.score.features import DISTANCES
from pipelines.score.stored_sweep import StoredSweep
from pipelines.storage.sweep_folder import SweepFolder
from pipelines.track.cell_run import cell_content
from pipelines.track.panels import Panels
from tests.pipelines.sweep_cases import run
from tests.pipelines.track.conftest import FakeSweep


def add_distances(folder, rows):
    summary = folder.read_summary()
    name = folder.distances_name(summary["plan"], summary["scoring"])
    folder.store.write_table(name, pa.Table.from_pylist(rows, schema=DISTANCES))


def logged(url):
    """Metrics and note of every cell's run, as MLflow is given them."""
    sweep = StoredSweep.read(SweepFolder(url))
    contents = [cell_content(sweep, cell, Panels(sweep)) for cell in sweep.record.cells]
    return [(content.metrics(), content.tags()["mlflow.note.content"]) for content in contents]


def test_a_distance_over_fewer_images_is_marked_in_the_report_and_withheld_from_mlflow(tmp_path, capsys):
    sweep = FakeSweep(tmp_path, distribution=["fd_vgg16", "fid"]).write()
    folder = SweepFolder(sweep.url)
    cells = [cell.id for cell in folder.cells(folder.read_summary()["plan"])]
    rows = [
        {"cell": cell, "metric": "fd_vgg16", "value": 12.5, "count_images": count, "expected": 3}
        for cell, count in zip(cells, (2, 3, 3, 3), strict=True)
    ]
    rows += [{"cell": cell, "metric": "fid", "expected": 3, "unavailable": "no weights here"} for cell in cells]
    add_distances(folder, rows)
    assert run("report", sweep.url) == 0
    told = capsys.readouterr().out
    assert "note: fd_vgg16 of 1 cell: it is over 2 of 3 images." in told
    assert "note: fid of 4 cells: no weights here." in told
    assert folder.store.read_bytes(PAGE).decode().count("12.500 (over 2 of 3 images)") == 1
    (partly, note), *others = logged(sweep.url)
    assert "fd_vgg16" not in partly
    assert "fd_vgg16 is not logged: it is over 2 of 3 images" in note
    assert [metrics["fd_vgg16"] for metrics, _ in others] == [12.5] * 3
    assert not any("fid" in metrics for metrics, _ in logged(sweep.url))
    assert run("compare", sweep.url, sweep.url) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if "fd_vgg16 of" in line]
    assert len(lines) == 4
    assert sum("12.500 (over 2 of 3 images) -> 12.500 (over 2 of 3 images), not judged" in line for line in lines) == 1


def test_a_distance_that_is_not_finite_says_so(tmp_path):
    sweep = FakeSweep(tmp_path, distribution=["fid"]).write()
    folder = SweepFolder(sweep.url)
    cells = [cell.id for cell in folder.cells(folder.read_summary()["plan"])]
    row = {"metric": "fid", "value": math.nan, "count_images": 3, "expected": 3}
    add_distances(folder, [row | {"cell": cell} for cell in cells])
    assert all("fid is not logged: it is not finite." in note for _, note in logged(sweep.url))
    assert StoredSweep.read(folder).notes == ["fid of 4 cells: it is not finite"]


@pytest.mark.parametrize("command", ["report", "track", "compare"])
def test_a_damaged_table_of_distances_is_named(command, tmp_path, capsys):
    sweep = FakeSweep(tmp_path, distribution=["fid"]).write()
    folder = SweepFolder(sweep.url)
    add_distances(folder, [])
    (name,) = [name for name in folder.store.list("results/") if name.endswith("-distribution.parquet")]
    folder.store.write_table(name, folder.store.read_table(name).drop_columns(["value"]))
    assert run(command, *[sweep.url] * (2 if command == "compare" else 1)) == 2
    error = capsys.readouterr().err
    assert f"{folder.store.url(name)}: it is damaged (it has no column value)" in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("failed", [set(), {1}])
def test_the_measurements_row_is_over_the_images_that_the_cells_share(tmp_path, failed):
    """Three pictures; where all cells failed on one, its measurement is not in the mean beside them."""
    sweep = FakeSweep(tmp_path, failed=failed).write()
    folder = SweepFolder(sweep.url)
    summary = folder.read_summary()
    items = folder.store.read_table(folder.plan_name(summary["plan"])).to_pylist()
    named = {item["measurement_digest"]: item["measurement"] for item in items}
    worth = {digest: 10.0 * (1 + int(name[-1])) for digest, name in named.items()}
    rows = [{"digest": d, "measurement": name, "task": "sr4-32", "psnr": worth[d]} for d, name in named.items()]
    folder.store.write_table(
        folder.references_table_name(summary["plan"], summary["scoring"]), pa.Table.from_pylist(rows)
    )
    kept = [worth[digest] for digest, name in named.items() if int(name[-1]) not in failed]
    (means,) = StoredSweep.read(folder).record.measurements.values()
    assert means["psnr"].mean == pytest.approx(np.mean(kept))
    assert means["psnr"].clusters == len(kept)
    assert run("report", sweep.url) == (1 if failed else 0)
    *_, row = [  # of the table of all cells, which counts images; the leaderboard before it does not
        line
        for line in folder.store.read_bytes(PAGE).decode().split("<tr>")
        if "<td>the measurement itself</td>" in line
    ]
    assert f">{len(kept)}<" in row
