"""All that a page's program reads, as plain JSON: specifications, their data, and pictures."""

import json
from itertools import permutations
from typing import Any

from eval.record import SweepRecord
from eval.record.numbers import finite
from eval.report import grid_charts, line_charts, point_charts
from eval.report.chart_rows import axes, datasets, residual_rows
from eval.report.chart_style import Spec, config
from eval.report.content import Report
from eval.report.explored import NUMBERS, Explored, explored
from eval.report.thumbnails import data_uri


def page_values(report: Report, room: int) -> dict[str, Any]:
    """Cells by id, charts by name with their rows, and the pictures' rows with their images.

    As text they take no more than `room` bytes, unless they do without any single measurement.
    """
    values = _bounded_values(report) | {"explored": []}
    return values | {"explored": [vars(one) for one in _fitting(report, room - len(embedded(values)))]}


def _fitting(report: Report, room: int) -> list[Explored]:
    """As many scores of measurements as fit; how long their text is shows once they are written."""
    numbers = NUMBERS
    while True:
        found = list(explored(report, numbers))
        size = len(embedded([vars(one) for one in found]))
        if size <= room or all(len(one.measurements) <= 1 for one in found):
            return found
        numbers = int(min(numbers, _numbers(found)) * min(0.9, max(0.1, 0.95 * room / size)))


def _numbers(found: list[Explored]) -> int:
    return sum(len(column) for one in found for columns in one.values.values() for column in columns.values())


def _bounded_values(report: Report) -> dict[str, Any]:
    """All but single measurements: their number is bounded, or that of the cells."""
    record, pictures = report.record, report.pictures
    return {
        "tasks": record.tasks,
        "arms": record.arms,
        "axes": axes(record),
        "metrics": [{"name": m.name, "unit": m.unit, "direction": m.direction} for m in record.metrics],
        "cells": [{"id": one.id, "task": one.task, "label": one.marked, "arm": one.arm} for one in record.cells],
        "charts": charts(report),
        "config": config(),
        "datasets": datasets(report),
        "together": settings_together(record),
        "wanted": list(report.wanted),
        "wanted_cells": list(report.wanted_cells),
        "rows": [vars(row) | {"values": {k: finite(v) for k, v in row.values.items()}} for row in pictures.rows],
        "images": {key: data_uri(content) for key, content in pictures.images.items()},
        "traces": [vars(one) | {"curves": list(one.curves)} for one in report.traces],
    }


def charts(report: Report) -> dict[str, Spec]:
    """By the name under which a page asks for them; what a sweep has nothing to show for is missing."""
    record, names = report.record, axes(report.record)
    found = {f"heat/{x}/{y}": grid_charts.heat_map(record, x, y) for x, y in permutations(names, 2)}
    found |= {f"marginal/{name}": grid_charts.marginal(record, name) for name in names}
    if len(names) > 2:
        found["parallel"] = grid_charts.parallel(record)
    if record.judged and any(cell.comparable_seconds is not None for cell in record.cells):
        found["cost/seconds"] = point_charts.cost(record, "seconds")
    strays = residual_rows(report)
    if record.judged and strays:
        found["cost/residual"] = point_charts.cost(record, "residual")
    if strays:
        found["residual"] = point_charts.residuals(record, [row[p] for row in strays for p in ("p5", "p95")])
    if any(one.result is not None and one.result.difference.low is not None for one in record.contrasts):
        found["contrasts"] = point_charts.contrasts(record)
    return found | {f"curve/{name}": line_charts.curve(report, name) for name in report.curve_names}


def embedded(values: Any) -> str:
    """JSON that cannot end the script element it stands in, nor start a comment or an entity."""
    text = json.dumps(values, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def settings_together(record: SweepRecord) -> list[tuple[str, str]]:
    """Pairs of settings that some cell has both of."""
    pairs = permutations(record.shown, 2)
    return [
        (x, y) for x, y in pairs
        if any(cell.settings[x] is not None and cell.settings[y] is not None for cell in record.cells)
    ]  # fmt: skip
