"""Residuals of single images against what the noise alone gives."""

import numpy as np

from eval.record import CellResult, SweepRecord
from eval.report.content import TaskFacts
from eval.report.shown_cells import chosen_cells

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


def residual_quantiles(record: SweepRecord, task: str) -> list[tuple[CellResult, list[float]]]:
    """The chosen cells of a task that have residuals, with their `QUANTILES` over images."""
    quantiles = []
    for cell in chosen_cells(record, task) if "residual" in record.scores.metrics else ():
        column = record.values(cell, "residual")
        if column.finite.any():
            quantiles.append((cell, [float(q) for q in np.quantile(column.values[column.finite], QUANTILES)]))
    return quantiles


def expected_stray(facts: TaskFacts | None) -> float | None:
    """How far a truth's residual strays from 1: the norm of m normal numbers by about 1 / sqrt(2 m) of itself."""
    return (2 * facts.entries) ** -0.5 if facts is not None and facts.entries else None
