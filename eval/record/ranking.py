"""What cells are ranked by: means over the same rows, so that none wins by having failed on the hard ones."""

from collections.abc import Mapping

import numpy as np

from eval.scores import CellValues
from eval.statistics.shared_rows import FiniteRows, row_keys, taken


def ranking_means(columns: Mapping[str, CellValues]) -> dict[str, float]:
    """By cell, the mean over the measurements and seeds at which every ranked cell is finite.

    Cells with too few values are missing; so are all where the fuller ones share no row.
    """
    shared = FiniteRows(columns)
    if not len(shared.rows):
        return {}
    ranked = ((cell, columns[cell]) for cell in shared.names)
    return {cell: float(np.mean(column.values[shared.places(column)])) for cell, column in ranked}


def asked_alike(columns: Mapping[str, CellValues]) -> dict[str, CellValues]:
    """The same on the rows that all of them have, failed ones too: of a race, the winner has some that others lack."""
    shared = set.intersection(*(set(row_keys(column)) for column in columns.values())) if columns else set()
    return {
        cell: taken(column, [row for row, key in enumerate(row_keys(column)) if key in shared])
        for cell, column in columns.items()
    }
