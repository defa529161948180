"""The values that a page's charts are drawn from, as plain JSON."""

import json
from typing import Any

from eval.cell_labels import in_order, value_words
from eval.record import CellResult, Contrast, SweepRecord
from eval.record.numbers import finite
from eval.report.content import Report, TraceCurves
from eval.report.residuals import expected_stray, residual_quantiles
from eval.report.shown_cells import chosen_cells
from eval.report.thumbnails import data_uri
from eval.scores import Parameter
from eval.statistics import Interval

CURVE_POINTS = 1000
"""A curve keeps at most so many of its points, evenly spread."""


def chart_values(report: Report) -> dict[str, Any]:
    """All that the page's program reads."""
    record, pictures = report.record, report.pictures
    return {
        "tasks": record.tasks,
        "arms": record.arms,
        "axes": [*_arm_axis(record), *(_axis(record, name) for name in record.shown)],
        "metrics": [{"name": m.name, "unit": m.unit, "direction": m.direction} for m in record.metrics],
        "cells": [_cell(cell) for cell in record.cells],
        "contrasts": [_contrast(one) for one in record.contrasts],
        "chosen": {task: [cell.id for cell in chosen_cells(record, task)] for task in record.tasks},
        "residuals": {
            cell.id: [finite(value) for value in quantiles]
            for task in record.tasks
            for cell, quantiles in residual_quantiles(record, task)
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


def _arm_axis(record: SweepRecord) -> list[dict[str, Any]]:
    """Arms are told apart as settings are, where there are several."""
    return [{"name": "arm", "values": record.arms, "kind": "word"}] if len(record.arms) > 1 else []


def _axis(record: SweepRecord, name: str) -> dict[str, Any]:
    """A setting and its values in order; cells of a method without it have none."""
    values = in_order(cell.settings[name] for cell in record.cells)
    numeric = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    return {"name": name, "values": [_value(value) for value in values], "kind": "number" if numeric else "word"}


def _value(value: Parameter) -> Parameter:
    return value_words(value) if isinstance(value, bool) else value


def _cell(cell: CellResult) -> dict[str, Any]:
    return {
        "id": cell.id,
        "task": cell.task,
        "label": cell.label,
        "settings": {"arm": cell.arm} | {name: _value(value) for name, value in cell.settings.items()},
        "means": {metric: _interval(mean) for metric, mean in cell.means.items()},
        "counts": {metric: mean.count for metric, mean in cell.means.items()},
        "ranked": {metric: finite(mean) for metric, mean in cell.ranked.items()},
        "seconds": finite(cell.comparable_seconds),
    }


def _interval(interval: Interval) -> list[float | None]:
    return [finite(interval.mean), finite(interval.low), finite(interval.high)]


def _contrast(one: Contrast) -> dict[str, Any]:
    mean, low, high = _interval(one.result.difference) if one.result else (None, None, None)
    winner = None if one.winner is None else one.a if one.winner == "a" else one.b
    return {
        "task": one.task, "metric": one.metric.name, "direction": one.metric.direction, "a": one.a, "b": one.b,
        "mean": mean, "low": low, "high": high, "winner": winner, "verdict": one.verdict,
    }  # fmt: skip


def _trace(one: TraceCurves) -> dict[str, Any]:
    thinned = {}
    for name, curve in one.curves.items():
        step = max(1, -(-len(curve) // CURVE_POINTS))
        thinned[name] = [finite(value) for value in curve[::step]]
    return vars(one) | {"curves": thinned}
