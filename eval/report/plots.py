"""Single figures over a grid, drawn by Matplotlib: heat map, curves, parallel coordinates, Pareto, differences."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from eval.cell_labels import in_order, value_words
from eval.metrics import MetricInfo
from eval.record import CellResult, SweepRecord, best_of
from eval.record.numbers import shown
from eval.scores import Parameter

COLOURS = ("#0067a8", "#c44f00", "#2e7d32", "#b0194a", "#795548", "#5e35b1")
"""Of arms in their order, as on the page."""
OTHERS = ("#1b1f24", "#8a5a9e", "#4f8a3c", "#8f8f8f", "#a8772a")
"""Of lines that are not told apart by an arm."""
MARKERS = ("o", "s", "^", "D")
_PLAIN = "#5b616b"
ARM = "arm"
Axis = tuple[str, Sequence[Parameter]]
"""A parameter and its values in order."""


def heat_map(record: SweepRecord, task: str, metric: MetricInfo, x: str, y: str) -> Figure:
    """One number over all other parameters, one panel per arm that has both; brighter is better."""
    able = [cell for cell in record.of_task(task) if metric.name in cell.means]
    cells = [cell for cell in able if cell.settings[x] is not None and cell.settings[y] is not None]
    panels = list(dict.fromkeys(cell.arm for cell in cells))
    across, down = (_values(cells, name) for name in (x, y))
    values = [_grid(cells, metric, (x, across), (y, down), arm) for arm in panels]
    finite = np.concatenate([grid[np.isfinite(grid)] for grid in values])
    limits = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    figure = Figure(
        figsize=(1.2 + len(panels) * (0.75 * len(across) + 1.2), 1.4 + 0.5 * len(down)), layout="constrained"
    )
    drawn = figure.subplots(1, len(panels), squeeze=False, sharey=True)[0]
    colours = "viridis_r" if metric.direction == "lower" else "viridis"
    for axes, arm, grid in zip(drawn, panels, values, strict=True):
        image = axes.imshow(grid, cmap=colours, vmin=limits[0], vmax=limits[1], aspect="auto")
        axes.set(title=arm, xlabel=x, xticks=range(len(across)), yticks=range(len(down)))
        axes.set_xticklabels([value_words(value) for value in across])
        axes.set_yticklabels([value_words(value) for value in down])
        for (row, column), value in np.ndenumerate(grid):
            light = image.norm(value) > 0.5 if colours == "viridis" else image.norm(value) < 0.5
            if np.isfinite(value):
                axes.text(column, row, shown(value), ha="center", va="center", color="k" if light else "w", fontsize=7)
    drawn[0].set_ylabel(y)
    figure.suptitle(titled(record, task, metric, [x, y]), fontsize=9)
    figure.colorbar(image, ax=list(drawn), label=_named(metric))
    return figure


def marginal(record: SweepRecord, task: str, metric: MetricInfo, axis: str) -> Figure:
    """One number at every value of a parameter; a single cell has its 95 % interval."""
    figure, axes = _single()
    able = [cell for cell in record.of_task(task) if metric.name in cell.means and cell.settings[axis] is not None]
    for arm in dict.fromkeys(cell.arm for cell in able):
        cells = [cell for cell in able if cell.arm == arm]
        values = _values(cells, axis)
        points = [together([cell for cell in cells if cell.settings[axis] == value], metric) for value in values]
        spread = [[point.mean - point.low for point in points], [point.high - point.mean for point in points]]
        numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
        places: list[Any] = numbers if len(numbers) == len(values) else [value_words(value) for value in values]
        heights = [point.mean for point in points]
        axes.errorbar(places, heights, yerr=spread, capsize=2, label=arm, **look(record, arm))
        if len(numbers) == len(values) > 0 and 0 < 9 * min(numbers) <= max(numbers):
            axes.set_xscale("log")
    axes.set(xlabel=axis, ylabel=_named(metric))
    axes.set_title(titled(record, task, metric, [axis]), fontsize=9)
    legend(axes)
    return figure


def parallel(record: SweepRecord, task: str, metric: MetricInfo) -> Figure:
    """Every cell as a line through its parameters to its mean; brighter is better."""
    cells = [cell for cell in record.of_task(task) if metric.name in cell.means]
    means = np.array([cell.means[metric.name].mean for cell in cells])
    share = (means - means.min()) / (np.ptp(means) or 1.0)
    colours = colormaps["viridis_r" if metric.direction == "lower" else "viridis"]
    names = parallel_axes(record)
    figure = Figure(figsize=(1.6 * len(names) + 1.6, 3.2), layout="constrained")
    axes = figure.subplots()
    places: dict[str, list[Any]] = {name: record.arms if name == ARM else _values(cells, name) for name in names}
    heights = {name: np.linspace(0, 1, len(values)) if len(values) > 1 else [0.5] for name, values in places.items()}
    for index in np.argsort(share if metric.direction == "higher" else -share, kind="stable"):  # the best on top
        line = [heights[name][values.index(_told(cells[index], name))] for name, values in places.items()]
        axes.plot([*line, share[index]], color=colours(share[index]), linewidth=1.5)
    for column, (name, values) in enumerate(places.items()):
        axes.axvline(column, color="#888888", linewidth=1, zorder=0)
        for value, height in zip(values, heights[name], strict=True):
            _tick(axes, value_words(value), column, height)
    axes.axvline(len(places), color="#888888", linewidth=1, zorder=0)
    for mean, height in ((means.min(), 0.0), (means.max(), 1.0)) if np.ptp(means) else ((means[0], 0.0),):
        _tick(axes, shown(float(mean)), len(places), height)
    axes.set_xticks(range(len(places) + 1), [*places, _named(metric)])
    axes.set(title=task, yticks=[], xlim=(-0.1, len(places) + 0.4))
    axes.spines[:].set_visible(False)
    return figure


def parallel_axes(record: SweepRecord) -> list[str]:
    """What tells cells apart: the arm where there are several, and the shown settings."""
    return [*([ARM] if len(record.arms) > 1 else []), *record.shown]


def _told(cell: CellResult, name: str) -> Parameter:
    return cell.arm if name == ARM else cell.settings[name]


def pareto(record: SweepRecord, task: str, metric: MetricInfo) -> Figure:
    """Quality against seconds; the line joins cells that none beats in both."""
    figure, axes = _single()
    cells = [c for c in record.of_task(task) if c.comparable_seconds is not None and metric.name in c.means]
    for arm in dict.fromkeys(cell.arm for cell in cells):
        some = [(cell.comparable_seconds, cell.means[metric.name].mean) for cell in cells if cell.arm == arm]
        axes.scatter(*zip(*some, strict=True), label=arm, **look(record, arm))
    full = [cell for cell in cells if metric.name in cell.ranked] or cells
    front = pareto_front([(float(cell.comparable_seconds or 0), cell.means[metric.name].mean) for cell in full], metric)
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


def differences(record: SweepRecord) -> Figure:
    """Contrasts with 95 % intervals, one panel per metric."""
    compared = [(one, one.result.difference) for one in record.contrasts if one.result is not None]
    metrics = list(dict.fromkeys(one.metric.name for one, _ in compared))
    several = len({one.a for one, _ in compared}) > 1
    lines = list(dict.fromkeys((one.task, one.a) for one, _ in compared))
    figure = Figure(figsize=(2.6 * len(metrics) + 1, 1 + 0.5 * len(lines)), layout="constrained")
    for axes, name in zip(figure.subplots(1, len(metrics), squeeze=False, sharey=True)[0], metrics, strict=True):
        here = [(one, gap) for one, gap in compared if one.metric.name == name]
        for one, gap in here:
            low, high = (gap.mean if end is None else end for end in (gap.low, gap.high))
            words = f"{one.task}: {one.a}" if several else one.task
            colour = look(record, {"a": one.a, "b": one.b}.get(one.winner or ""))["color"]
            axes.plot([low, high], [words] * 2, color=colour, linewidth=2)
            axes.plot([gap.mean], [words], "o", color=colour)
        axes.axvline(0, color="#888888", linestyle="--", linewidth=1)
        rival = "" if several else here[0][0].a
        axes.set(xlabel=f"{name}, {rival} - {here[0][0].b}", title=f"{here[0][0].metric.direction} is better")
        bare(axes)
    return figure


def _grid(cells: Sequence[CellResult], metric: MetricInfo, x: Axis, y: Axis, arm: str) -> NDArray[np.float64]:
    grid = np.full((len(y[1]), len(x[1])), np.nan)
    for row, column in np.ndindex(*grid.shape):
        here = [c for c in cells if c.settings[x[0]] == x[1][column] and c.settings[y[0]] == y[1][row]]
        grid[row, column] = together([c for c in here if c.arm == arm], metric).mean
    return grid


class Point(NamedTuple):
    """Cells that agree in what is shown, as one number; the ends are the mean where there is no interval."""

    mean: float
    low: float
    high: float


def together(cells: Sequence[CellResult], metric: MetricInfo) -> Point:
    """As on the page: the best cell, or of a metric without better and worse the mean of all; NaN without any."""
    able = [cell.means[metric.name] for cell in cells if metric.name in cell.means]
    best = None if metric.direction == "none" else best_of(cells, metric)
    one = best.means[metric.name] if best is not None else able[0] if len(able) == 1 else None
    if one is None:
        mean = float(np.mean([interval.mean for interval in able])) if able else float("nan")
        return Point(mean, mean, mean)
    return Point(one.mean, *(one.mean if end is None else end for end in (one.low, one.high)))


def titled(record: SweepRecord, task: str, metric: MetricInfo, apart: Sequence[str]) -> str:
    """`sr4-32: best over gamma`, for the parameters that a figure does not tell apart."""
    rest = [name for name in record.shown if name not in apart]
    return f"{task}: {'mean' if metric.direction == 'none' else 'best'} over {', '.join(rest)}" if rest else task


def _tick(axes: Axes, text: str, x: float, y: float) -> None:
    """Beside its axis, legible on top of lines."""
    ground = {"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 0.8}
    axes.annotate(text, (x, y), (5, 0), textcoords="offset points", fontsize=7, va="center", bbox=ground)


def look(record: SweepRecord, arm: str | None) -> dict[str, Any]:
    """Colour and marker of an arm, by its place as on the page; of what is none a plain one."""
    place = record.arms.index(arm) if arm in record.arms and len(record.arms) > 1 else None
    colour = _PLAIN if place is None else COLOURS[place % len(COLOURS)]
    return {"color": colour, "marker": MARKERS[(place or 0) % len(MARKERS)]}


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
    values = [cell.settings[name] for cell in cells]
    return [*in_order(values), *([None] if None in values else [])]
