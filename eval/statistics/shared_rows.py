"""Rows that columns share, by measurement and seed: what is compared is compared on the same ones.

The cells of a finished sweep have the same rows, and then nothing is looked up by name.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eval.cell_values import ENOUGH, CellValues

Row = tuple[str, int]
"""A measurement and a seed."""
Places = NDArray[np.intp]

_ARRAYS = ("measurements", "seeds", "digests", "failed", "values")


class FiniteRows:
    """Columns with enough finite values, and the rows at which all of these are finite; columns are looked at in turn.

    Means over such rows are fair: no cell wins by having failed on the hard ones.
    """

    def __init__(self, columns: Mapping[str, CellValues]) -> None:
        self._columns = columns
        counts = {name: int(column.finite.sum()) for name, column in columns.items()}
        most = max(counts.values(), default=0)
        self.names = [name for name, count in counts.items() if count >= ENOUGH * most]
        self._first = columns[self.names[0]] if self.names else None
        self.rows = np.zeros(0, dtype=np.intp) if self._first is None else self._shared(self._first)
        """Places of the shared rows in the first column, in the order of their keys."""

    def places(self, column: CellValues) -> Places:
        """Where a column has the shared rows, in the order of their keys."""
        if self._first is None or same_rows(column, self._first):
            return self.rows
        place = {key: index for index, key in enumerate(row_keys(column))}
        return np.array([place[key] for key in self._keys], dtype=np.intp)

    @property
    def measurements(self) -> NDArray[np.object_]:
        """Of every shared row."""
        return np.empty(0, dtype=object) if self._first is None else self._first.measurements[self.rows]

    @cached_property
    def _keys(self) -> list[Row]:
        return [] if self._first is None else row_keys(taken(self._first, self.rows))

    def _shared(self, first: CellValues) -> Places:
        kept, keys = first.finite.copy(), None
        for name in self.names[1:]:
            column = self._columns[name]
            if same_rows(column, first):
                kept &= column.finite
                continue
            known = {key for key, finite in zip(row_keys(column), column.finite.tolist(), strict=True) if finite}
            keys = row_keys(first) if keys is None else keys
            kept &= np.fromiter((key in known for key in keys), dtype=bool, count=len(keys))
        rows = np.flatnonzero(kept)
        return rows[np.lexsort((first.seeds[rows], first.measurements[rows]))]


def common_rows(a: CellValues, b: CellValues) -> tuple[CellValues, CellValues]:
    """Both reduced to the rows they share: an unfinished sweep has not the same of each cell."""
    if same_rows(a, b):
        return a, b
    keys_a, keys_b = row_keys(a), row_keys(b)
    shared = set(keys_a) & set(keys_b)
    kept_a, kept_b = ([i for i, key in enumerate(keys) if key in shared] for keys in (keys_a, keys_b))
    return taken(a, kept_a), taken(b, kept_b)


def same_rows(a: CellValues, b: CellValues) -> bool:
    """Whether two columns have the same rows in the same order."""
    return np.array_equal(a.seeds, b.seeds) and np.array_equal(a.measurements, b.measurements)


def taken(column: CellValues, rows: list[int] | Places) -> CellValues:
    """Some rows of a column."""
    index = np.asarray(rows, dtype=np.intp)
    return replace(column, **{name: getattr(column, name)[index] for name in _ARRAYS})


def joined(pieces: list[CellValues], label: str) -> CellValues:
    """Rows of several columns as one, in the order of their keys."""
    arrays: dict[str, Any] = {name: np.concatenate([getattr(piece, name) for piece in pieces]) for name in _ARRAYS}
    column = replace(pieces[0], label=label, **arrays)
    return taken(column, np.lexsort((column.seeds, column.measurements)))


def row_keys(column: CellValues) -> list[Row]:
    """Measurement and seed of every row."""
    return list(zip(column.measurements.tolist(), column.seeds.tolist(), strict=True))
