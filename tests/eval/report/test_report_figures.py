"""Figures for papers: one for everything the page draws, and none that fails for want of numbers."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from eval.record import SweepRecord
from eval.report import Facts, Report
from eval.report.figure_files import figures, written
from eval.report.plots import heat_map, marginal, together
from eval.scores import ScoreTable
from tests.eval.record.score_cases import TASKS, four_arms, score_table


def test_everything_the_page_draws_is_also_a_figure(report):
    found = dict(figures(report))
    for task in TASKS:
        for name in ("residual", "traces", "snapshots"):
            assert f"{name}-{task}" in found
        for metric in ("psnr", "lpips_vgg", "residual"):
            assert {f"heat-{task}-{metric}-eta_kl-gamma", f"parallel-{task}-{metric}"} <= found.keys()
    samples = found[f"snapshots-{TASKS[0]}"]
    assert [axes.get_title() for axes in samples.axes] == ["t = 3", "t = 1"] * 2
    assert sum(len(axes.images) for axes in samples.axes) == 4
    (axes,) = found[f"residual-{TASKS[0]}"].axes
    assert axes.get_yticklabels()[0].get_text() == "star, eta_kl=0.01, gamma=0.1"
    assert [axes.get_title() for axes in found[f"traces-{TASKS[0]}"].axes] == [
        f"{TASKS[0]}: {name}" for name in ("total", "kl", "remasked")
    ]
    (axes,) = found[f"parallel-{TASKS[0]}-psnr"].axes
    assert sum(len(line.get_xdata()) == 4 for line in axes.lines) == 12
    for name in (f"residual-{TASKS[0]}", f"snapshots-{TASKS[0]}", f"parallel-{TASKS[0]}-psnr"):
        assert written(found[name], "pdf").startswith(b"%PDF")


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
    lines = found["marginal-sr4-32-psnr-eta_kl"].axes[0].get_legend_handles_labels()[1]
    assert lines == ["star", "markov"]
    assert "contrasts" in found
    assert written(found["parallel-sr4-32-psnr"], "png")


def test_of_a_metric_without_better_and_worse_figures_show_the_mean(record):
    residual = next(metric for metric in record.metrics if metric.name == "residual")
    cells = [cell for cell in record.of_task(TASKS[0]) if cell.settings["eta_kl"] == 0.1]
    assert together(cells, residual) == pytest.approx((1.55,) * 3)
    assert np.isnan(together([], residual).mean)
    assert marginal(record, TASKS[0], residual, "eta_kl").axes[0].get_title() == f"{TASKS[0]}: mean over gamma"
    psnr = record.judged[0]
    assert marginal(record, TASKS[0], psnr, "eta_kl").axes[0].get_title() == f"{TASKS[0]}: best over gamma"
    assert heat_map(record, TASKS[0], psnr, "eta_kl", "gamma").get_suptitle() == TASKS[0]
