"""The rows that charts are drawn from, in the tidy form that Vega-Lite reads; the same for pages and for papers."""

from collections.abc import Sequence
from typing import Any

from eval.cell_labels import in_order, value_words
from eval.metrics import MetricInfo
from eval.record import CellResult, SweepRecord
from eval.record.numbers import finite
from eval.report.chart_style import ARM, with_unit
from eval.report.content import Report, TraceCurves
from eval.report.residuals import expected_stray, residual_quantiles
from eval.scores import Parameter

Rows = list[dict[str, Any]]
CURVE_POINTS, PAGE_POINTS = 1000, 20_000
"""A curve keeps at most so many of its points, evenly spread, and all of a page together."""


def datasets(report: Report) -> dict[str, Rows]:
    """By the name under which specifications ask for them."""
    return {
        "cells": cell_rows(report.record),
        "contrasts": contrast_rows(report.record),
        "residuals": residual_rows(report),
        "curves": curve_rows(report),
    }


def axes(record: SweepRecord) -> list[str]:
    """What tells cells apart: the arm where there are several, and the shown settings."""
    return [*([ARM] if len(record.arms) > 1 else []), *record.shown]


def axis_values(record: SweepRecord, name: str) -> list[Parameter]:
    """In order: arms as the record has them, numbers by size, words by the alphabet."""
    if name == ARM:
        return list(record.arms)
    return [plain(value) for value in in_order(cell.settings[name] for cell in record.cells)]


def is_numeric(values: Sequence[Parameter]) -> bool:
    return all(isinstance(value, int | float) for value in values)


def plain(value: Parameter) -> Parameter:
    """A setting as a chart has it: what is true or false is a word."""
    return value_words(value) if isinstance(value, bool) else value


def metric_words(record: SweepRecord) -> dict[str, dict[str, str]]:
    """By name, what captions say of a metric."""
    better = {"higher": "higher is better", "lower": "lower is better", "none": "neither high nor low is better"}
    return {
        metric.name: {"label": with_unit(metric), "direction": metric.direction, "better": better[metric.direction]}
        for metric in record.metrics
    }


def cell_rows(record: SweepRecord) -> Rows:
    """One row per cell and metric; `place` counts from the best, so that the least of a group is its best."""
    rows = []
    for metric in record.metrics:
        for task in record.tasks:
            able = [cell for cell in record.of_task(task) if metric.name in cell.means]
            order = {cell.id: place for place, cell in enumerate(sorted(able, key=lambda one: _worth(one, metric)))}
            rows += [_cell_row(cell, metric, order[cell.id]) for cell in able]
    return rows


def _worth(cell: CellResult, metric: MetricInfo) -> tuple[Any, ...]:
    """Sorts the best first, as `eval.record.best_of` finds it: ranked cells, then the fullest."""
    sign = -1 if metric.direction == "higher" else 1
    if metric.name in cell.ranked:
        return 0, sign * cell.ranked[metric.name]
    mean = cell.means[metric.name]
    return 1, -mean.count, sign * mean.mean


def _cell_row(cell: CellResult, metric: MetricInfo, place: int) -> dict[str, Any]:
    mean, residual = cell.means[metric.name], cell.means.get("residual")
    few = _unranked(cell, metric)
    return {
        "cell": cell.id, "task": cell.task, "arm": cell.arm, "metric": metric.name, "place": place,
        "mean": finite(mean.mean), "low": finite(mean.low), "high": finite(mean.high),
        "note": f"{cell.marked}, too few values to be ranked: {mean.count}" if few and not cell.left else cell.marked,
        "few": few,
        "seconds": finite(cell.comparable_seconds),
        "residual": None if residual is None else finite(residual.mean),
        "s": {ARM: cell.arm} | {name: plain(value) for name, value in cell.settings.items()},
    }  # fmt: skip


def unranked_cells(record: SweepRecord) -> bool:
    """Whether a cell has a mean by which it is not ranked."""
    return any(
        _unranked(cell, metric) for cell in record.cells for metric in record.judged if metric.name in cell.means
    )


def _unranked(cell: CellResult, metric: MetricInfo) -> bool:
    return metric.direction != "none" and metric.name not in cell.ranked


def contrast_rows(record: SweepRecord) -> Rows:
    """Differences on scales of their own, from -1 to 1, so that right of 0 is better whatever the metric."""
    rows: Rows = []
    several = len({one.a for one in record.contrasts}) > 1
    for one in record.contrasts:
        if one.result is None or one.result.difference.low is None or one.result.difference.high is None:
            continue
        gap = one.result.difference
        low, high = (end for end in (gap.low, gap.high) if end is not None)
        unit = (max(abs(low), abs(high)) or 1.0) * (-1 if one.metric.direction == "lower" else 1)
        rows.append(
            {
                "row": " · ".join([one.task, one.metric.name, *([one.a] if several else [])]),
                "at": gap.mean / unit, "left": min(low / unit, high / unit), "right": max(low / unit, high / unit),
                "mean": finite(gap.mean), "low": finite(low), "high": finite(high),
                "winner": {"a": one.a, "b": one.b}.get(one.winner or "", ""), "verdict": one.verdict,
            }
        )  # fmt: skip
    return rows


def residual_rows(report: Report) -> Rows:
    """Quantiles over images of the chosen cells, and the band in which 95 % of truths lie."""
    rows: Rows = []
    for task in report.record.tasks:
        stray = expected_stray(report.facts.tasks.get(task))
        band = {} if stray is None else {"from": 1 - 2 * stray, "to": 1 + 2 * stray}
        for cell, quantiles in residual_quantiles(report.record, task):
            named = dict(zip(("p5", "p25", "p50", "p75", "p95"), map(finite, quantiles), strict=True))
            rows.append({"task": task, "cell": cell.id, "label": cell.marked, "arm": cell.arm} | named | band)
    return rows


def curve_rows(report: Report) -> Rows:
    """Every curve that methods kept, point by point over steps."""
    rows: Rows = []
    most = min(CURVE_POINTS, max(2, PAGE_POINTS // max(1, sum(len(one.curves) for one in report.traces))))
    for one in report.traces:
        cell = report.record.cell(one.cell)
        for name, curve in one.curves.items():
            steps = _steps_done(one, len(curve))
            thin = max(1, -(-len(curve) // most))
            rows += [
                {"task": cell.task, "cell": cell.id, "label": cell.label, "curve": name, "rows": one.rows,
                 "step": finite(done), "value": finite(value)}
                for done, value in list(zip(steps, curve, strict=True))[::thin]
            ]  # fmt: skip
    return rows


def _steps_done(trace: TraceCurves, points: int) -> list[float]:
    """Steps that lie behind each point of a curve, with the share of the one that it is in."""
    if points == sum(trace.iterations) and points != len(trace.levels):
        return [step + (at + 1) / count for step, count in enumerate(trace.iterations) for at in range(count)]
    each = (len(trace.levels) or points) / max(1, points)
    return [each * (place + 1) for place in range(points)]
