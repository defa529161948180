"""What MLflow's page of charts opens with: quality over the settings that vary, task by task.

By itself it draws a bar for every metric in the order of the alphabet, `count` and `failed` first.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from eval.metrics import MetricInfo
from eval.record import CellResult, SweepRecord
from eval.record.numbers import is_log
from pipelines.track.metric_names import task_metric

_RUNS = 100
"""Runs in a chart; MLflow's pages are slow beyond."""
_LOG = "log10 "
"""Before a setting's name: MLflow's charts have no logarithmic axis, so a param takes its place."""

Card = dict[str, Any]

Rank = tuple[bool, int, int]
"""Where there are too many cards the highest go first: planes, then later metrics, then later settings."""


def chart_states(record: SweepRecord) -> Iterator[dict[str, Any]]:
    """Cards and sections in MLflow's own form, each time with fewer cards, of all tasks alike; at last without any."""
    logarithmic = _logarithmic(record)
    axes = {name: _LOG + name if name in logarithmic else name for name in record.shown}
    sections = [
        {"uuid": f"g2d2-{task}", "name": task, "display": True, "isReordered": True, "isGenerated": False}
        for task in record.tasks
    ]
    cards = [
        ((plane, place, number), card)
        for task in record.tasks
        for place, metric in enumerate(record.judged)
        for plane, number, card in _cards(record, task, metric, axes)
    ]
    ranks: set[Rank] = {rank for rank, _ in cards}
    for last in sorted(ranks, reverse=True):
        kept = [card for rank, card in cards if rank <= last]
        yield {"compareRunCharts": kept, "compareRunSections": sections, "isAccordionReordered": True}
    yield {}


def log_params(record: SweepRecord, cell: CellResult) -> dict[str, str]:
    """Logarithms of a cell's settings that vary over orders of magnitude, for the axes of charts."""
    values = {name: _number(cell, name) for name in _logarithmic(record)}
    return {_LOG + name: f"{math.log10(value):.6g}" for name, value in values.items() if value is not None}


def chart_metrics(record: SweepRecord, cell: CellResult) -> dict[str, float]:
    """A cell's means by the names that charts draw, which leave out the runs of other tasks and arms."""
    means = {metric.name: cell.means[metric.name].mean for metric in record.judged if metric.name in cell.means}
    drawn = {_of_task(record, cell.task, name): mean for name, mean in means.items()}
    if _plane(record, cell.task, cell.arm) is not None:
        drawn |= {_of_arm(record, cell.task, cell.arm, name): mean for name, mean in means.items()}
    return drawn


def _of_task(record: SweepRecord, task: str, metric: str) -> str:
    return task_metric(task, metric) if len(record.tasks) > 1 else metric


def _of_arm(record: SweepRecord, task: str, arm: str, metric: str) -> str:
    return task_metric(f"{task}/{arm}", metric) if len(record.arms) > 1 else _of_task(record, task, metric)


def _plane(record: SweepRecord, task: str, arm: str) -> tuple[str, str] | None:
    """The two settings that vary in a task and arm; None where others vary too and would hide cells behind another."""
    cells = [cell for cell in record.of_task(task) if cell.arm == arm]
    varied = [name for name in record.shown if len({cell.settings.get(name) for cell in cells}) > 1]
    if len(varied) != 2 or not all(_is_number(record, name) for name in varied):
        return None
    return varied[0], varied[1]


def _logarithmic(record: SweepRecord) -> list[str]:
    numeric = [name for name in record.shown if _is_number(record, name)]
    return [name for name in numeric if is_log(_number(cell, name) for cell in record.cells)]


def _number(cell: CellResult, name: str) -> float | None:
    value = cell.settings.get(name)
    return None if value is None else float(value)


def _cards(
    record: SweepRecord, task: str, metric: MetricInfo, varied: Mapping[str, str]
) -> Iterator[tuple[bool, int, Card]]:
    """Whether it is a plane, its number, the card; `varied` are settings and the params that hold them on an axis."""
    for number, arm in enumerate(record.arms):  # cells of two arms lie at the same places
        if (plane := _plane(record, task, arm)) is None:
            continue
        x, other = plane
        name = _of_arm(record, task, arm, metric.name)
        what = f"{metric.name} of {arm}" if len(record.arms) > 1 else metric.name
        axes = {"xaxis": _param(varied[x]), "yaxis": _param(varied[other]), "zaxis": _metric(name)}
        yield True, number, _card("CONTOUR", task, f"{what} over {x} and {other}", f"{name}-{x}-{other}") | axes
    name = _of_task(record, task, metric.name)
    for number, x in enumerate(varied):
        axes = {"xaxis": _param(varied[x]), "yaxis": _metric(name)}
        yield False, number, _card("SCATTER", task, f"{metric.name} over {x}", f"{name}-{x}") | axes


def _card(kind: str, task: str, title: str, key: str) -> Card:
    return {
        "type": kind, "uuid": f"g2d2-{key}", "displayName": title, "metricSectionId": f"g2d2-{task}", "deleted": False,
        "isGenerated": False, "runsCountToCompare": _RUNS,
    }  # fmt: skip


def _param(name: str) -> dict[str, str]:
    return {"key": name, "type": "PARAM"}


def _metric(name: str) -> dict[str, str]:
    return {"key": name, "type": "METRIC"}


def _is_number(record: SweepRecord, name: str) -> bool:
    values = [value for cell in record.cells if (value := cell.settings.get(name)) is not None]
    return bool(values) and all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
