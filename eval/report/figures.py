"""Figures for papers, drawn by Matplotlib and written as PNG and PDF."""

import io
from collections.abc import Iterator
from itertools import product

import numpy as np
from matplotlib.figure import Figure
from PIL import Image

from eval.report.content import PictureRow, Report
from eval.report.findings import best_duels
from eval.report.numbers import shown
from eval.report.plots import bare, differences, heat_map, legend, marginal, pareto, tint
from eval.report.results import CellResult, Results


def figures(report: Report) -> Iterator[tuple[str, Figure]]:
    """Names and figures of all a report has to show."""
    results = report.results
    for task, metric in product(results.tasks, results.metrics):
        for x, y in _axis_pairs(results):
            yield f"heat-{task}-{metric.name}-{x}-{y}", heat_map(results, task, metric, x, y)
        for axis in (name for name in results.axes if name != "process"):
            yield f"marginal-{task}-{metric.name}-{axis}", marginal(results, task, metric, axis)
        if metric.direction != "none" and any(cell.seconds is not None for cell in results.of_task(task)):
            yield f"pareto-{task}-{metric.name}", pareto(results, task, metric)
    if any(duel.result for duel in best_duels(results)):
        yield "star-against-markov", differences(results)
    for task in results.tasks:
        curves = [one for one in report.traces if _cell(results, one.cell).task == task]
        if curves:
            yield f"traces-{task}", traces(report, task)
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
    for curves in report.traces:
        cell = _cell(report.results, curves.cell)
        if cell.task == task:
            style = {"color": tint(cell.process), "label": cell.label, "linewidth": 1}
            steps = np.arange(len(curves.total)) * len(curves.levels) / len(curves.total)
            left.plot(steps, curves.total, **style)
            right.plot(np.arange(len(curves.remasked)) + 1, curves.remasked, **style)
    left.set(title=f"{task}: total loss", xlabel="step (T first)")
    right.set(title="re-masked tokens", xlabel="step (T first)")
    for axes in (left, right):
        legend(axes)
        bare(axes)
    return figure


def pictures(report: Report, rows: list[PictureRow]) -> Figure:
    """Truth, measurement and reconstructions, one measurement per line."""
    columns = ["truth", "y", *rows[0].values]
    figure = Figure(figsize=(1.1 * len(columns) + 0.6, 1.25 * len(rows) + 0.3), layout="constrained")
    for line, row in zip(figure.subplots(len(rows), len(columns), squeeze=False), rows, strict=True):
        for axes, column in zip(line, columns, strict=True):
            key = f"{column}/{row.measurement}" + ("" if column in ("truth", "y") else f"/{row.seed}")
            axes.set(xticks=[], yticks=[])
            if key in report.pictures.images:
                with Image.open(io.BytesIO(report.pictures.images[key])) as picture:
                    axes.imshow(np.asarray(picture.convert("RGB")), interpolation="nearest")
            words = column if column in ("truth", "y") else _cell(report.results, column).label.replace(", ", "\n")
            value = row.values.get(column)
            axes.set_title(words if row is rows[0] else "", fontsize=6)
            axes.set_xlabel("" if value is None else shown(value), fontsize=6)
        line[0].set_ylabel(row.kind, fontsize=7)
    return figure


def _axis_pairs(results: Results) -> list[tuple[str, str]]:
    plain = [name for name in results.axes if name != "process"]
    return [(x, y) for i, x in enumerate(plain) for y in plain[i + 1 :]]


def _cell(results: Results, name: str) -> CellResult:
    return next(cell for cell in results.cells if cell.id == name)
