"""The values that a page's charts are drawn from, as plain JSON."""

import json
from typing import Any

from eval.report.content import Report, TraceCurves
from eval.report.findings import Duel
from eval.report.numbers import finite
from eval.report.residuals import expected_stray, residual_quantiles
from eval.report.results import CellResult, Results, worded
from eval.report.shown_cells import chosen_cells
from eval.report.thumbnails import data_uri
from eval.scores import Parameter
from eval.statistics import Interval

CURVE_POINTS = 1000
"""A loss curve keeps at most so many of its points, evenly spread."""


def chart_values(report: Report, duels: list[Duel]) -> dict[str, Any]:
    """All that the page's program reads."""
    results, pictures = report.results, report.pictures
    return {
        "tasks": results.tasks,
        "axes": [_axis(results, name) for name in results.axes],
        "metrics": [{"name": m.name, "unit": m.unit, "direction": m.direction} for m in results.metrics],
        "cells": [_cell(cell) for cell in results.cells],
        "duels": [_duel(duel) for duel in duels],
        "chosen": {task: [cell.id for cell in chosen_cells(results, task)] for task in results.tasks},
        "residuals": {
            cell.id: [finite(value) for value in quantiles]
            for task in results.tasks
            for cell, quantiles in residual_quantiles(results, task)
        },
        "expected": {task: stray for task, facts in report.facts.tasks.items() if (stray := expected_stray(facts))},
        "rows": [vars(row) | {"values": {k: finite(v) for k, v in row.values.items()}} for row in pictures.rows],
        "images": {key: data_uri(content) for key, content in pictures.images.items()},
        "traces": [_trace(curves) for curves in report.traces],
    }


def embedded(values: Any) -> str:
    """JSON that cannot end the script element it stands in, nor start a comment or an entity."""
    text = json.dumps(values, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _axis(results: Results, name: str) -> dict[str, Any]:
    values = {cell.settings[name] for cell in results.cells}
    numeric = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    ordered = sorted(values, key=lambda value: (value is None, value if numeric else worded(value)))
    if name == "process":
        ordered = sorted(ordered, key=lambda value: value != "star")
    return {"name": name, "values": [_value(value) for value in ordered], "kind": "number" if numeric else "word"}


def _value(value: Parameter) -> Parameter:
    return worded(value) if isinstance(value, bool) or value is None else value


def _cell(cell: CellResult) -> dict[str, Any]:
    return {
        "id": cell.id,
        "task": cell.task,
        "label": cell.label,
        "settings": {name: _value(value) for name, value in cell.settings.items()},
        "means": {metric: _interval(mean) for metric, mean in cell.means.items()},
        "counts": {metric: mean.count for metric, mean in cell.means.items()},
        "ranked": {metric: finite(mean) for metric, mean in cell.ranked.items()},
        "seconds": finite(cell.comparable_seconds),
    }


def _interval(interval: Interval) -> list[float | None]:
    return [finite(interval.mean), finite(interval.low), finite(interval.high)]


def _duel(duel: Duel) -> dict[str, Any]:
    mean, low, high = _interval(duel.result.difference) if duel.result else (None, None, None)
    return {
        "task": duel.task, "metric": duel.metric.name, "direction": duel.metric.direction, "mean": mean, "low": low,
        "high": high, "winner": duel.winner, "verdict": duel.verdict,
    }  # fmt: skip


def _trace(curves: TraceCurves) -> dict[str, Any]:
    step = -(-len(curves.total) // CURVE_POINTS)
    thinned = {name: [finite(v) for v in getattr(curves, name)[::step]] for name in ("total", "likelihood", "kl")}
    tokens = {name: [finite(v) for v in getattr(curves, name)] for name in ("remasked", "masked")}
    return vars(curves) | thinned | tokens
