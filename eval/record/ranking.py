"""What cells are ranked by: means over the same rows, so that none wins by having failed on the hard ones."""

from collections.abc import Mapping

import numpy as np

from eval.scores import CellValues
from eval.statistics.selection import ENOUGH, Row, finite_rows


def ranking_means(columns: Mapping[str, CellValues]) -> dict[str, float]:
    """By cell, the mean over the measurements and seeds at which every ranked cell is finite.

    Cells with too few values are missing; so are all where the fuller ones share no row.
    """
    ranked = _ranked(columns)
    shared = _shared(ranked)
    if not shared:
        return {}
    return {cell: float(np.mean([v for key, v in values.items() if key in shared])) for cell, values in ranked.items()}


def shared_rows(columns: Mapping[str, CellValues]) -> set[Row]:
    """Measurements and seeds that cells are ranked on."""
    return _shared(_ranked(columns))


def _ranked(columns: Mapping[str, CellValues]) -> dict[str, dict[Row, float]]:
    """Finite values by cell, of cells with enough of them."""
    rows = {cell: finite_rows(column) for cell, column in columns.items()}
    most = max(map(len, rows.values()), default=0)
    return {cell: values for cell, values in rows.items() if values and len(values) >= ENOUGH * most}


def _shared(ranked: Mapping[str, Mapping[Row, float]]) -> set[Row]:
    return set.intersection(*map(set, ranked.values())) if ranked else set()
