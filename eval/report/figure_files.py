"""Figures for papers, drawn by Matplotlib and written as PNG and PDF."""

import io
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations, cycle, product

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

from eval.record import CellResult, SweepRecord
from eval.record.numbers import shown
from eval.report.content import PictureRow, Report, TraceCurves
from eval.report.plots import (
    OTHERS,
    bare,
    differences,
    heat_map,
    legend,
    look,
    marginal,
    parallel,
    parallel_axes,
    pareto,
)
from eval.report.residuals import expected_stray, residual_quantiles


def figures(report: Report) -> Iterator[tuple[str, Figure]]:
    """Names and figures of all a report has to show."""
    record = report.record
    for task, metric in product(record.tasks, record.metrics):
        cells = [cell for cell in record.of_task(task) if metric.name in cell.means]
        if not cells:
            continue
        for x, y in combinations(record.shown, 2):
            if any(cell.settings[x] is not None and cell.settings[y] is not None for cell in cells):
                yield f"heat-{task}-{metric.name}-{x}-{y}", heat_map(record, task, metric, x, y)
        for axis in record.shown:
            yield f"marginal-{task}-{metric.name}-{axis}", marginal(record, task, metric, axis)
        if len(parallel_axes(record)) > 2:
            yield f"parallel-{task}-{metric.name}", parallel(record, task, metric)
        if metric.direction != "none" and any(cell.comparable_seconds is not None for cell in cells):
            yield f"pareto-{task}-{metric.name}", pareto(record, task, metric)
    if any(one.result for one in record.contrasts):
        yield "contrasts", differences(record)
    for task in record.tasks:
        if residual_quantiles(record, task):
            yield f"residual-{task}", residuals(report, task)
        curves = [one for one in report.traces if record.cell(one.cell).task == task]
        if curves:
            yield f"traces-{task}", traces(report, task)
        kept = [one for one in curves if one.snapshots]
        if kept:
            yield f"snapshots-{task}", snapshots(report, kept)
        rows = [row for row in report.pictures.rows if row.task == task and row.metric == record.judged[0].name]
        if rows:
            yield f"pictures-{task}-{record.judged[0].name}", pictures(report, rows[:6])


def written(figure: Figure, kind: str) -> bytes:
    """The content of a file of this kind, `png` or `pdf`; the same figure gives the same bytes."""
    buffer = io.BytesIO()
    metadata = {"CreationDate": None} if kind == "pdf" else {}
    figure.savefig(buffer, format=kind, dpi=200, metadata=metadata)
    return buffer.getvalue()


def traces(report: Report, task: str) -> Figure:
    """Every curve that methods kept, over their steps."""
    here = [one for one in report.traces if report.record.cell(one.cell).task == task]
    names = list(dict.fromkeys(name for one in here for name in one.curves))
    across = min(len(names), 3)
    down = -(-len(names) // across)
    figure = Figure(figsize=(4 * across, 2.8 * down), layout="constrained")
    panels = list(figure.subplots(down, across, squeeze=False).ravel())
    for axes, name in zip(panels, names, strict=False):
        able = [(one, report.record.cell(one.cell)) for one in here if one.curves.get(name)]
        for (one, cell), style in zip(able, _styles(report.record, [cell for _, cell in able]), strict=True):
            curve = one.curves[name]
            steps = (np.arange(len(curve)) + 1) * (len(one.levels) or len(curve)) / len(curve)
            axes.plot(steps, curve, label=cell.label, linewidth=1, **style)
        axes.set(title=f"{task}: {name}", xlabel="step (T first)")
        legend(axes)
        bare(axes)
    for axes in panels[len(names) :]:
        axes.set_axis_off()
    return figure


def residuals(report: Report, task: str) -> Figure:
    """Median, middle half and 90 % of the images of the chosen cells; the band is where 95 % of truths lie."""
    quantiles = residual_quantiles(report.record, task)
    figure = Figure(figsize=(5.2, 1.2 + 0.42 * len(quantiles)), layout="constrained")
    axes = figure.subplots()
    stray = expected_stray(report.facts.tasks.get(task))
    if stray is not None:
        axes.axvspan(1 - 2 * stray, 1 + 2 * stray, color="#888888", alpha=0.18, linewidth=0)
    axes.axvline(1, color="#888888", linestyle="--", linewidth=1)
    for line, (cell, (p5, p25, p50, p75, p95)) in enumerate(quantiles):
        style = look(report.record, cell.arm)
        colour = style["color"]
        axes.plot([p5, p95], [line, line], color=colour, linewidth=1)
        axes.plot([p25, p75], [line, line], color=colour, linewidth=5, alpha=0.5, solid_capstyle="butt")
        axes.plot([p50], [line], style["marker"], color=colour, markersize=5)
    axes.set_yticks(range(len(quantiles)), [cell.label for cell, _ in quantiles], fontsize=7)
    axes.set(title=task, xlabel="residual; 1 is what the noise alone gives", ylim=(len(quantiles) - 0.4, -0.6))
    bare(axes)
    return figure


def snapshots(report: Report, curves: Sequence[TraceCurves]) -> Figure:
    """What methods kept while solving, one cell per line, as t falls; at the right what it is held against."""
    beside = [name for name in ("y", "truth") if f"{name}/{curves[0].measurement}" in report.pictures.images]
    columns = max(len(one.snapshots) for one in curves) + len(beside)
    figure = Figure(figsize=(0.9 * columns + 0.9, 1.15 * len(curves) + 0.2), layout="constrained")
    for line, one in zip(figure.subplots(len(curves), columns, squeeze=False), curves, strict=True):
        shown_here = [(f"t = {level}", key) for level, key in one.snapshots]
        shown_here += [(name, f"{name}/{one.measurement}") for name in beside]
        for axes in line[len(shown_here) :]:
            axes.set_axis_off()
        for axes, (title, key) in zip(line, shown_here, strict=False):
            _show(axes, report.pictures.images.get(key))
            axes.set_title(title, fontsize=6)
        label = report.record.cell(one.cell).label
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
            words = column if column in ("truth", "y") else report.record.cell(column).label.replace(", ", "\n")
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


def _styles(record: SweepRecord, cells: Sequence[CellResult]) -> Iterator[dict[str, str]]:
    """An arm has its colour, lines of a sole arm have one each; lines of one colour differ in dash."""
    plain, used = iter(cycle(OTHERS)), Counter[str]()
    for cell in cells:
        colour = look(record, cell.arm)["color"] if len(record.arms) > 1 else next(plain)
        yield {"color": colour, "linestyle": ("-", "--", ":", "-.")[used[colour] % 4]}
        used[colour] += 1
