"""What MLflow's page of charts opens with: quality over the settings that vary, task by task.

By itself it draws a bar for every metric in the order of the alphabet, `count` and `failed` first.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from eval.metrics import MetricInfo
from eval.record import CellResult, SweepRecord
from eval.record.numbers import is_log
from pipelines.track.metric_names import task_metric

_RUNS = 100
"""Runs in a chart; MLflow's pages are slow beyond."""
_PLANES = 3
"""Pairs of settings that are drawn as a plane, of each task and metric."""

_LOG = "log10 "
"""Before a setting's name: MLflow's charts have no logarithmic axis, so a param takes its place."""

Card = dict[str, Any]


def chart_state(record: SweepRecord) -> dict[str, Any]:
    """Cards and sections in MLflow's own form; nothing where no setting varies."""
    numeric = [name for name in record.shown if _is_number(record, name)]
    logarithmic = _logarithmic(record)
    axes = {name: _LOG + name if name in logarithmic else name for name in record.shown}
    sections = [
        {"uuid": f"g2d2-{task}", "name": task, "display": True, "isReordered": True, "isGenerated": False}
        for task in record.tasks
    ]
    cards = [
        card
        for task in record.tasks
        for metric in record.judged
        for card in _cards(task, metric, axes, numeric, len(record.tasks) > 1)
    ]
    if not cards:
        return {}
    return {"compareRunCharts": cards, "compareRunSections": sections, "isAccordionReordered": True}


def log_params(record: SweepRecord, cell: CellResult) -> dict[str, str]:
    """Logarithms of a cell's settings that vary over orders of magnitude, for the axes of charts."""
    values = {name: _number(cell, name) for name in _logarithmic(record)}
    return {_LOG + name: f"{math.log10(value):.6g}" for name, value in values.items() if value is not None}


def _logarithmic(record: SweepRecord) -> list[str]:
    numeric = [name for name in record.shown if _is_number(record, name)]
    return [name for name in numeric if is_log(_number(cell, name) for cell in record.cells)]


def _number(cell: CellResult, name: str) -> float | None:
    value = cell.settings.get(name)
    return None if value is None else float(value)


def _cards(
    task: str, metric: MetricInfo, varied: Mapping[str, str], numeric: Sequence[str], of_many: bool
) -> Iterator[Card]:
    """`varied` are settings and the params that hold them on an axis."""
    name = task_metric(task, metric.name) if of_many else metric.name
    y = {"key": name, "type": "METRIC"}
    for x, other in [*combinations(numeric, 2)][:_PLANES]:
        axes = {"xaxis": _param(varied[x]), "yaxis": _param(varied[other]), "zaxis": y}
        yield _card("CONTOUR", task, f"{metric.name} over {x} and {other}", f"{name}-{x}-{other}") | axes
    for x in varied:
        axes = {"xaxis": _param(varied[x]), "yaxis": y}
        yield _card("SCATTER", task, f"{metric.name} over {x}", f"{name}-{x}") | axes


def _card(kind: str, task: str, title: str, key: str) -> Card:
    return {
        "type": kind, "uuid": f"g2d2-{key}", "displayName": title, "metricSectionId": f"g2d2-{task}", "deleted": False,
        "isGenerated": False, "runsCountToCompare": _RUNS,
    }  # fmt: skip


def _param(name: str) -> dict[str, str]:
    return {"key": name, "type": "PARAM"}


def _is_number(record: SweepRecord, name: str) -> bool:
    values = [value for cell in record.cells if (value := cell.settings.get(name)) is not None]
    return bool(values) and all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
