"""Figures for papers: one for everything the page draws, and none that fails for want of numbers."""

import json
import re
from dataclasses import replace
from pathlib import Path

import altair
import jsonschema
import pyarrow as pa
import pyarrow.compute as pc

from eval.record import SweepRecord
from eval.report import Facts, Pictures, Report
from eval.report.chart_rows import cell_rows
from eval.report.figure_files import figures, written
from eval.scores import ScoreTable
from tests.eval.record.score_cases import TASKS, four_arms, score_table


def test_everything_the_page_draws_is_also_a_figure(report):
    found = dict(figures(report))
    for task in TASKS:
        assert {f"{name}-{task}" for name in ("residual", "snapshots", "traces")} - {f"traces-{task}"} <= found.keys()
        assert {f"traces-{task}-{name}" for name in ("total", "kl", "remasked")} <= found.keys()
        for metric in ("psnr", "lpips_vgg", "residual"):
            assert {f"heat-{task}-{metric}-eta_kl-gamma", f"parallel-{task}-{metric}"} <= found.keys()
        for metric in ("psnr", "lpips_vgg"):
            assert {f"pareto-{task}-{metric}", f"against-residual-{task}-{metric}"} <= found.keys()
    svg, pdf = written(found[f"residual-{TASKS[0]}"], "svg", "pdf")
    assert "star, eta_kl=0.01, gamma=0.1" in svg.decode()
    assert "var(--" not in svg.decode()
    assert pdf.startswith(b"%PDF")
    (samples,) = written(found[f"snapshots-{TASKS[0]}"], "svg")
    assert samples.count(b"<image") == 4
    assert b"t = 3" in samples
    (threads,) = written(found[f"parallel-{TASKS[0]}-psnr"], "svg")
    assert threads.count(b'aria-roledescription="line mark"') + threads.count(b"L") > 12


def test_every_chart_is_valid_vega_lite(report):
    schema = json.loads(Path(altair.vegalite.schema.__file__).with_name("vega-lite-schema.json").read_text())
    check = jsonschema.validators.validator_for(schema)(schema)
    for name, chart in figures(report):
        assert [error.message[:200] for error in check.iter_errors(chart)] == [], name


def test_a_task_without_values_of_a_metric_has_no_figure_of_it():
    table = score_table(images=3)
    psnr = pc.if_else(pc.equal(table["task"], TASKS[0]), table["psnr"], pa.scalar(float("nan")))
    table = table.set_column(table.column_names.index("psnr"), "psnr", psnr)
    report = Report(Facts("half", "out", "p", 72, 72, 0, "", {}), SweepRecord(ScoreTable(table)))
    names = [name for name, _ in figures(report)]
    assert f"heat-{TASKS[0]}-psnr-eta_kl-gamma" in names
    assert f"heat-{TASKS[1]}-lpips_vgg-eta_kl-gamma" in names
    assert [name for name in names if TASKS[1] in name and "-psnr" in name] == []


def test_arms_without_a_setting_are_left_out_of_figures_over_it():
    record = SweepRecord(ScoreTable(four_arms(images=4)), compare="markov")
    found = dict(figures(Report(Facts("four", "out", "p", 72, 72, 0, "", {}), record)))
    assert not [name for name in found if name.startswith("heat")]  # no arm has both settings
    assert "contrasts" in found
    (png,) = written(found["parallel-sr4-32-psnr"], "png")
    assert png.startswith(b"\x89PNG")


def test_the_names_of_measurements_beside_pictures_are_whole(report):
    name = "photographs-of-the-second-camera-validation-0000123.png"
    kept = report.pictures.rows[0]
    images = {key.replace(kept.measurement, name): content for key, content in report.pictures.images.items()}
    named = replace(report, pictures=Pictures([replace(kept, measurement=name)], images))
    (svg,) = written(dict(figures(named))[f"pictures-{kept.task}-{kept.metric}"], "svg")
    assert f">{name}<" in svg.decode()


def test_an_axis_on_which_all_values_are_equal_says_that_value():
    table = score_table(images=4)
    for name, value in (("seconds", 3.746), ("psnr", 21.37)):
        table = table.set_column(table.column_names.index(name), name, pa.array([value] * len(table)))
    found = dict(figures(Report(Facts("equal", "out", "p", 96, 96, 0, "", {}), SweepRecord(ScoreTable(table)))))
    (svg,) = written(found[f"pareto-{TASKS[0]}-psnr"], "svg")
    assert re.findall(r">([\d.]+)</text>", svg.decode()) == ["3.746", "21.37"]


def test_the_least_place_of_a_group_is_its_best_cell(record):
    rows = cell_rows(record)
    for task, metric in ((task, metric) for task in TASKS for metric in record.judged):
        here = [row for row in rows if (row["task"], row["metric"]) == (task, metric.name)]
        for arm in record.arms:
            best = min((row for row in here if row["arm"] == arm), key=lambda row: row["place"])
            assert best["cell"] == record.best_of(task, metric, arm).id
