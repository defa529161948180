"""Figures for papers, drawn by Matplotlib and written as PNG and PDF."""

import io
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import cycle, product

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

from eval.report.content import PictureRow, Report, TraceCurves
from eval.report.findings import best_duels
from eval.report.numbers import shown
from eval.report.plots import (
    COLOURS,
    MARKERS,
    OTHERS,
    bare,
    differences,
    heat_map,
    legend,
    marginal,
    parallel,
    pareto,
    tint,
)
from eval.report.residuals import expected_stray, residual_quantiles
from eval.report.results import CellResult, Results


def figures(report: Report) -> Iterator[tuple[str, Figure]]:
    """Names and figures of all a report has to show."""
    results = report.results
    for task, metric in product(results.tasks, results.metrics):
        cells = [cell for cell in results.of_task(task) if metric.name in cell.means]
        if not cells:
            continue
        for x, y in _axis_pairs(results):
            yield f"heat-{task}-{metric.name}-{x}-{y}", heat_map(results, task, metric, x, y)
        for axis in (name for name in results.axes if name != "process"):
            yield f"marginal-{task}-{metric.name}-{axis}", marginal(results, task, metric, axis)
        if len(results.axes) > 2:
            yield f"parallel-{task}-{metric.name}", parallel(results, task, metric)
        if metric.direction != "none" and any(cell.comparable_seconds is not None for cell in cells):
            yield f"pareto-{task}-{metric.name}", pareto(results, task, metric)
    if any(duel.result for duel in best_duels(results)):
        yield "star-against-markov", differences(results)
    for task in results.tasks:
        if residual_quantiles(results, task):
            yield f"residual-{task}", residuals(report, task)
        curves = [one for one in report.traces if _cell(results, one.cell).task == task]
        if curves:
            yield f"traces-{task}", traces(report, task)
        sampled = [one for one in curves if one.samples]
        if sampled:
            yield f"prior-samples-{task}", prior_samples(report, sampled)
        rows = [row for row in report.pictures.rows if row.task == task and row.metric == results.judged[0].name]
        if rows:
            yield f"pictures-{task}-{results.judged[0].name}", pictures(report, rows[:6])


def written(figure: Figure, kind: str) -> bytes:
    """The content of a file of this kind, `png` or `pdf`; the same figure gives the same bytes."""
    buffer = io.BytesIO()
    metadata = {"CreationDate": None} if kind == "pdf" else {}
    figure.savefig(buffer, format=kind, dpi=200, metadata=metadata)
    return buffer.getvalue()


def traces(report: Report, task: str) -> Figure:
    """Losses of the inner iterations and re-masked tokens per step."""
    figure = Figure(figsize=(8, 2.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    shown_here = [
        (curves, cell) for curves in report.traces if (cell := _cell(report.results, curves.cell)).task == task
    ]
    for (curves, cell), style in zip(shown_here, _styles([cell.process for _, cell in shown_here]), strict=True):
        steps = np.arange(len(curves.total)) * len(curves.levels) / len(curves.total)
        left.plot(steps, curves.total, label=cell.label, linewidth=1, **style)
        right.plot(np.arange(len(curves.remasked)) + 1, curves.remasked, label=cell.label, linewidth=1, **style)
    left.set(title=f"{task}: total loss", xlabel="step (T first)")
    right.set(title="re-masked tokens", xlabel="step (T first)")
    for axes in (left, right):
        legend(axes)
        bare(axes)
    return figure


def residuals(report: Report, task: str) -> Figure:
    """Median, middle half and 90 % of the images of the chosen cells; the band is where 95 % of truths lie."""
    found = residual_quantiles(report.results, task)
    figure = Figure(figsize=(5.2, 1.2 + 0.42 * len(found)), layout="constrained")
    axes = figure.subplots()
    stray = expected_stray(report.facts.tasks.get(task))
    if stray is not None:
        axes.axvspan(1 - 2 * stray, 1 + 2 * stray, color="#888888", alpha=0.18, linewidth=0)
    axes.axvline(1, color="#888888", linestyle="--", linewidth=1)
    for line, (cell, (p5, p25, p50, p75, p95)) in enumerate(found):
        colour = tint(cell.process)
        axes.plot([p5, p95], [line, line], color=colour, linewidth=1)
        axes.plot([p25, p75], [line, line], color=colour, linewidth=5, alpha=0.5, solid_capstyle="butt")
        axes.plot([p50], [line], MARKERS.get(cell.process or "", "o"), color=colour, markersize=5)
    axes.set_yticks(range(len(found)), [cell.label for cell, _ in found], fontsize=7)
    axes.set(title=task, xlabel="residual; 1 is what the noise alone gives", ylim=(len(found) - 0.4, -0.6))
    bare(axes)
    return figure


def prior_samples(report: Report, curves: Sequence[TraceCurves]) -> Figure:
    """What the prior alone guesses from z_t, one cell per line, as t falls; at the right what it is held against."""
    beside = [name for name in ("y", "truth") if f"{name}/{curves[0].measurement}" in report.pictures.images]
    columns = max(len(one.samples) for one in curves) + len(beside)
    figure = Figure(figsize=(0.9 * columns + 0.9, 1.15 * len(curves) + 0.2), layout="constrained")
    for line, one in zip(figure.subplots(len(curves), columns, squeeze=False), curves, strict=True):
        shown_here = [(f"t = {level}", key) for level, key in one.samples]
        shown_here += [(name, f"{name}/{one.measurement}") for name in beside]
        for axes in line[len(shown_here) :]:
            axes.set_axis_off()
        for axes, (title, key) in zip(line, shown_here, strict=False):
            _show(axes, report.pictures.images.get(key))
            axes.set_title(title, fontsize=6)
        label = _cell(report.results, one.cell).label
        line[0].set_ylabel(label.replace(", ", "\n"), fontsize=6)
    return figure


def pictures(report: Report, rows: list[PictureRow]) -> Figure:
    """Truth, measurement and reconstructions, one measurement per line."""
    columns = ["truth", "y", *rows[0].values]
    figure = Figure(figsize=(1.1 * len(columns) + 0.6, 1.25 * len(rows) + 0.3), layout="constrained")
    for line, row in zip(figure.subplots(len(rows), len(columns), squeeze=False), rows, strict=True):
        for axes, column in zip(line, columns, strict=True):
            key = f"{column}/{row.measurement}" + ("" if column in ("truth", "y") else f"/{row.seed}")
            _show(axes, report.pictures.images.get(key))
            words = column if column in ("truth", "y") else _cell(report.results, column).label.replace(", ", "\n")
            value = row.values.get(column)
            axes.set_title(words if row is rows[0] else "", fontsize=6)
            axes.set_xlabel("" if value is None else shown(value), fontsize=6)
        line[0].set_ylabel(row.kind, fontsize=7)
    return figure


def _show(axes: Axes, content: bytes | None) -> None:
    axes.set(xticks=[], yticks=[])
    if content is not None:
        with Image.open(io.BytesIO(content)) as picture:
            axes.imshow(np.asarray(picture.convert("RGB")), interpolation="nearest")


def _styles(processes: Sequence[str | None]) -> Iterator[dict[str, str]]:
    """A process has its colour, others have one each; lines of one colour differ in dash."""
    plain, used = iter(cycle(OTHERS)), Counter[str]()
    for process in processes:
        colour = COLOURS.get(process or "") or next(plain)
        yield {"color": colour, "linestyle": ("-", "--", ":", "-.")[used[colour] % 4]}
        used[colour] += 1


def _axis_pairs(results: Results) -> list[tuple[str, str]]:
    plain = [name for name in results.axes if name != "process"]
    return [(x, y) for i, x in enumerate(plain) for y in plain[i + 1 :]]


def _cell(results: Results, name: str) -> CellResult:
    return next(cell for cell in results.cells if cell.id == name)
