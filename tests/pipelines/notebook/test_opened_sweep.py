"""`Sweep` in Python: the numbers of terminal and report, pictures, and sentences for what is not there."""

import subprocess
import sys

import numpy as np
import pytest

from operators import InputError
from pipelines import Sweep
from tests.pipelines.fake_sweep import FakeSweep, picture
from tests.pipelines.nightly.hand_solved import HandSolved
from tests.pipelines.sweep_cases import specification, write_spec
from tests.test_layers import ROOT


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    random, planted = np.random.default_rng(0), {}
    for source in range(12):
        for process in ("star", "markov"):
            for eta in (0.0003, 0.001):
                planted[eta, process, source] = 20 + source + (process == "star") + random.normal(0, 0.1)
    tasks = ["sr4-32", "gaussian-deblur-32"]
    return FakeSweep(tmp_path_factory.mktemp("sweep"), sources=12, tasks=tasks, psnr=planted).write()


@pytest.fixture(scope="module")
def sweep(written):
    return Sweep.open(written.url)


def test_importing_the_package_loads_no_library():
    code = "import pipelines, sys; print({'torch', 'pyarrow', 'pydantic', 'mlflow', 'ray'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.strip() == "set()", done.stderr


def test_scores_are_an_arrow_table_and_a_frame(sweep):
    table = sweep.scores()
    assert table.num_rows == 2 * 4 * 12
    frame = table.to_pandas()
    means = frame.groupby(["task", "cell_label"])["psnr"].mean()
    for cell in sweep.cells():
        assert means[cell.task, cell.label] == pytest.approx(cell.means["psnr"].mean)


def test_cells_are_numbers_and_words(sweep):
    cells = sweep.cells()
    table = cells.to_arrow()
    assert table["cell"].to_pylist() == [cell.id for cell in cells]
    row = table.to_pylist()[0]
    assert (row["arm"], row["eta_kl"], row["count"], row["failed"], row["seconds"]) == ("star", 0.0003, 12, 0, 2.0)
    assert row["psnr_low"] < row["psnr"] < row["psnr_high"]
    assert "star" in repr(cells)
    assert f"<td>{cells[0].id}</td>" in cells._repr_html_()


def test_arms_are_contrasted_as_in_the_report(sweep):
    contrasts = sweep.contrast("star", "markov")
    assert [*contrasts] == sweep.record.contrasts
    psnr = contrasts[0]
    assert psnr.result.difference.mean == pytest.approx(1, abs=0.15)
    turned = sweep.contrast("markov", "star")[0].result.difference
    gap = psnr.result.difference
    assert (turned.mean, turned.low, turned.high) == pytest.approx((-gap.mean, -gap.high, -gap.low))
    row = contrasts.to_arrow().to_pylist()[0]
    assert (row["difference"], row["low"], row["verdict"]) == (gap.mean, gap.low, psnr.verdict)


def test_cells_are_contrasted_by_label_and_by_id_as_point_by_point(sweep):
    label = "eta_kl=0.001"
    by_label = sweep.contrast(f"star, {label}", f"markov, {label}")
    assert len(by_label) == 4  # two tasks, two metrics that have a better
    point = next(one for one in sweep.record.pointwise if one.judged_a == f"star, {label}")
    assert by_label[0].result.difference == point.result.difference
    a, b = point.cells_a[0], point.cells_b[0]
    assert sweep.contrast(a.id, b.id)[0].result.difference == point.result.difference
    assert "paired by measurement and seed" in repr(by_label)


def test_pictures_are_those_of_the_measurement_and_the_cells_with_their_scores(sweep):
    with pytest.raises(InputError, match="task: tiny has no 'sr4'; it has gaussian-deblur-32, sr4-32"):
        sweep.measurements("sr4")
    name = sweep.measurements("sr4-32")[2]
    pictures = sweep.images(name)
    assert [one.name for one in pictures][:2] == ["truth", "measurement"]
    assert [one.name.split(",")[0] for one in pictures[2:]] == ["star", "markov"]
    assert pictures[0].png == picture(82)
    assert pictures[0].values.shape == (3, 32, 32)
    frame = sweep.scores().to_pandas().set_index(["cell", "measurement"])
    for one in pictures[2:]:
        assert one.scores["psnr"] == frame.loc[one.cell, name]["psnr"]
        assert one.image.getpixel((16, 16))[0] == 120 + 10 * sweep.stored.plan.cells.index(planned(sweep, one.cell))
    assert pictures._repr_html_().count("data:image/png") == 4
    assert len(sweep.images(name, ["star"])) == 2 + 2
    assert len(sweep.images(name, [one.cell for one in pictures[2:]])) == 4


def planned(sweep, id):
    return next(cell for cell in sweep.stored.plan.cells if cell.id == id)


def test_the_overview_shows_tables_and_pictures(sweep):
    html = sweep._repr_html_()
    assert sweep.headline in html
    assert html.count("<table>") == 4
    assert html.count("<img") == 2 * 4
    assert "8 cells, 96 images" in repr(sweep)


def test_pictures_are_found_by_name_and_shown_large(sweep):
    pictures = sweep.images("sr4-32/0001", ["star"])
    assert [pictures["truth"], pictures["measurement"]] == pictures[:2]
    last = pictures[-1]
    assert pictures[last.name] is pictures[last.cell] is last
    assert "min-height:128px" in last._repr_html_()
    assert f"psnr {last.scores['psnr']:.2f}" in last._repr_html_()


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        (lambda s: s.contrast("stra", "markov"), "'stra' (did you mean 'star'?) is no arm, id or label"),
        (lambda s: s.contrast("star", "star"), "'star' and 'star' share cell"),
        (lambda s: s.contrast("sr4-32, star, eta_kl=0.001", "gaussian-deblur-32, star, eta_kl=0.001"), "no task"),
        (lambda s: s.images("sr4-32/9999"), "measurement: 'sr4-32/9999'"),
        (lambda s: s.images("sr4-32/0001", ["gaussian-deblur-32, star, eta_kl=0.001"]), "cells: none of"),
    ],
)  # fmt: skip
def test_what_is_not_there_is_named(sweep, ask, sentence):
    with pytest.raises(InputError) as told:
        ask(sweep)
    assert sentence in str(told.value)


def test_without_its_manifest_reconstructions_are_shown_alone(tmp_path):
    written = FakeSweep(tmp_path).write()
    (tmp_path / "manifest" / "manifest.json").unlink()
    sweep = Sweep.open(written.url)
    pictures = sweep.images("sr4-32/0001")
    assert len(pictures) == 2
    assert "truth and measurement are not shown" in pictures.notes[0]
    assert "truth and measurement are not shown" in pictures._repr_html_()
    with pytest.raises(InputError, match=r"picture: 'truth' is not among .* star, .*; truth and measurement are not"):
        pictures["truth"]
    assert sweep._repr_html_().count("<img") == 2


def test_a_sweep_runs_from_a_mapping_or_a_file_and_outlives_its_logging(
    small_manifest, tiny_prior, tmp_path, monkeypatch
):
    monkeypatch.setattr("pipelines.sweep.run_sweep", HandSolved())
    values = specification(small_manifest, tiny_prior, tmp_path / "out")
    sweep = Sweep.run(values)
    assert (sweep.missing, sweep.failed, sweep.name) == (0, 0, "small")
    assert sweep.images(sweep.measurements()[0])[0].image.size == (8, 8)
    with pytest.raises(InputError, match="unknown setting 'metrcs'"):
        Sweep.run(values | {"metrcs": []})
    (tmp_path / "out" / "mlflow.db").write_bytes(b"this is no database" * 100)
    file = write_spec(tmp_path / "spec.yaml", values | {"tracking": {"uri": f"sqlite:///{tmp_path}/out/mlflow.db"}})
    with pytest.warns(UserWarning, match="finishes the logging"):
        assert Sweep.run(file).scores().num_rows == 24
