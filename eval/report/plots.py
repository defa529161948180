"""Single figures over a grid, drawn by Matplotlib: heat map, marginal curves, Pareto front, star minus Markov."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from eval.metrics import MetricInfo
from eval.report.findings import best_duels, best_of
from eval.report.numbers import shown
from eval.report.results import CellResult, Results, worded
from eval.scores import Parameter

COLOURS = {"star": "#0067a8", "markov": "#c44f00"}
MARKERS = {"star": "o", "markov": "s"}
_PLAIN = "#5b616b"
Axis = tuple[str, Sequence[Parameter]]
"""A parameter and its values in order."""


def heat_map(results: Results, task: str, metric: MetricInfo, x: str, y: str) -> Figure:
    """The best over all other parameters, one panel per process; brighter is better."""
    cells = [cell for cell in results.of_task(task) if metric.name in cell.means]
    split = "process" in results.axes and "process" not in (x, y)
    panels = list(dict.fromkeys(cell.process for cell in cells)) if split else [None]
    across, down = (_values(cells, name) for name in (x, y))
    values = [_grid(cells, metric, (x, across), (y, down), process if split else None) for process in panels]
    finite = np.concatenate([grid[np.isfinite(grid)] for grid in values])
    limits = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    figure = Figure(
        figsize=(1.2 + len(panels) * (0.75 * len(across) + 1.2), 1.4 + 0.5 * len(down)), layout="constrained"
    )
    drawn = figure.subplots(1, len(panels), squeeze=False, sharey=True)[0]
    colours = "viridis_r" if metric.direction == "lower" else "viridis"
    for axes, process, grid in zip(drawn, panels, values, strict=True):
        image = axes.imshow(grid, cmap=colours, vmin=limits[0], vmax=limits[1], aspect="auto")
        axes.set(title=process or task, xlabel=x, xticks=range(len(across)), yticks=range(len(down)))
        axes.set_xticklabels([worded(value) for value in across])
        axes.set_yticklabels([worded(value) for value in down])
        for (row, column), value in np.ndenumerate(grid):
            light = image.norm(value) > 0.5 if colours == "viridis" else image.norm(value) < 0.5
            if np.isfinite(value):
                axes.text(column, row, shown(value), ha="center", va="center", color="k" if light else "w", fontsize=7)
    drawn[0].set_ylabel(y)
    figure.colorbar(image, ax=list(drawn), label=_named(metric))
    return figure


def marginal(results: Results, task: str, metric: MetricInfo, axis: str) -> Figure:
    """The best cell at every value of a parameter, with its 95 % interval."""
    figure, axes = _single()
    for process in dict.fromkeys(cell.process for cell in results.of_task(task)):
        cells = [cell for cell in results.of_task(task) if cell.process == process and metric.name in cell.means]
        values = _values(cells, axis)
        best = [best_of([cell for cell in cells if cell.settings[axis] == value], metric) for value in values]
        means = [cell.means[metric.name] for cell in best if cell is not None]
        spread = [
            [mean.mean - (mean.mean if mean.low is None else mean.low) for mean in means],
            [(mean.mean if mean.high is None else mean.high) - mean.mean for mean in means],
        ]
        numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
        places: list[Any] = numbers if len(numbers) == len(values) else [worded(value) for value in values]
        marker, heights = MARKERS.get(process or "", "o"), [mean.mean for mean in means]
        axes.errorbar(places, heights, yerr=spread, color=tint(process), marker=marker, capsize=2, label=process)
        if len(numbers) == len(values) > 0 and 0 < 9 * min(numbers) <= max(numbers):
            axes.set_xscale("log")
    axes.set(title=f"{task}: best over the other parameters", xlabel=axis, ylabel=_named(metric))
    legend(axes)
    return figure


def pareto(results: Results, task: str, metric: MetricInfo) -> Figure:
    """Quality against seconds; the line joins cells that none beats in both."""
    figure, axes = _single()
    cells = [c for c in results.of_task(task) if c.seconds is not None and metric.name in c.means]
    for process in dict.fromkeys(cell.process for cell in cells):
        some = [(cell.seconds, cell.means[metric.name].mean) for cell in cells if cell.process == process]
        axes.scatter(
            *zip(*some, strict=True), color=tint(process), marker=MARKERS.get(process or "", "o"), label=process
        )
    full = [cell for cell in cells if metric.name in cell.ranked] or cells
    front = pareto_front([(float(cell.seconds or 0), cell.means[metric.name].mean) for cell in full], metric)
    axes.plot(*zip(*front, strict=True), color="#888888", linewidth=1, zorder=0)
    axes.set(title=task, xlabel="seconds per image", ylabel=_named(metric))
    legend(axes)
    return figure


def pareto_front(points: list[tuple[float, float]], metric: MetricInfo) -> list[tuple[float, float]]:
    """Points that no other beats in both seconds and quality, the fastest first."""
    sign = 1 if metric.direction == "higher" else -1
    front: list[tuple[float, float]] = []
    for seconds, value in sorted(points, key=lambda point: (point[0], -sign * point[1])):
        if not front or sign * value > sign * front[-1][1]:
            front.append((seconds, value))
    return front


def differences(results: Results) -> Figure:
    """Star minus Markov with 95 % intervals, one panel per metric."""
    duels = [duel for duel in best_duels(results) if duel.result is not None]
    metrics = list(dict.fromkeys(duel.metric.name for duel in duels))
    figure = Figure(figsize=(2.6 * len(metrics) + 1, 1 + 0.5 * len(results.tasks)), layout="constrained")
    for axes, name in zip(figure.subplots(1, len(metrics), squeeze=False, sharey=True)[0], metrics, strict=True):
        for duel in (duel for duel in duels if duel.metric.name == name):
            gap = duel.result.difference if duel.result else None
            if gap is not None:
                low, high = (gap.mean if end is None else end for end in (gap.low, gap.high))
                axes.plot([low, high], [duel.task] * 2, color=tint(duel.winner), linewidth=2)
                axes.plot([gap.mean], [duel.task], "o", color=tint(duel.winner))
        axes.axvline(0, color="#888888", linestyle="--", linewidth=1)
        direction = next(duel.metric.direction for duel in duels if duel.metric.name == name)
        axes.set(xlabel=f"{name}, star - Markov", title=f"{direction} is better")
        bare(axes)
    return figure


def _grid(
    cells: Sequence[CellResult], metric: MetricInfo, x: Axis, y: Axis, process: str | None
) -> NDArray[np.float64]:
    grid = np.full((len(y[1]), len(x[1])), np.nan)
    for row, column in np.ndindex(*grid.shape):
        here = [c for c in cells if c.settings[x[0]] == x[1][column] and c.settings[y[0]] == y[1][row]]
        best = best_of([cell for cell in here if process is None or cell.process == process], metric)
        grid[row, column] = np.nan if best is None else best.means[metric.name].mean
    return grid


def tint(process: str | None) -> str:
    """Blue for star and orange for Markov, wherever they meet."""
    return COLOURS.get(process or "", _PLAIN)


def bare(axes: Axes) -> None:
    """No frame but the two axes."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)


def legend(axes: Axes) -> None:
    """Only where there is something to tell apart."""
    if len(axes.get_legend_handles_labels()[1]) > 1:
        axes.legend(frameon=False, fontsize=7)


def _single() -> tuple[Figure, Axes]:
    figure = Figure(figsize=(4.2, 3), layout="constrained")
    axes = figure.subplots()
    bare(axes)
    return figure, axes


def _named(metric: MetricInfo) -> str:
    return f"{metric.name} [{metric.unit}]" if metric.unit else metric.name


def _values(cells: Sequence[CellResult], name: str) -> list[Parameter]:
    """Numbers in their order, words in theirs, and what is absent last."""
    found = {cell.settings[name] for cell in cells}
    return sorted(found, key=lambda value: (value is None, isinstance(value, str), 0 if value is None else value))
