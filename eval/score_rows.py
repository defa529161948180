"""Rows of scored tables in a few bytes each, gathered part by part: what statistics ask of a sweep of millions.

A name stands once, and rows hold its place; settings stand once per cell. Ids of items are left in the tables.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from eval.score_columns import PROVENANCE, ROW_COSTS, Roles

KEYS = ("cell", "measurement", "seed")
"""No two rows agree in all of them; rows are sorted by them."""
_FIRST = 2**17
"""Entries of an array that begins; those that are never written take no memory."""
_BESIDE = ("measurement_digest", "error")
Settings = dict[str, dict[str, Any]]
"""By cell."""


@dataclass(frozen=True)
class Repeated:
    """A column whose values repeat: places in the list of its values, -1 where a row has none."""

    values: list[Any]
    places: NDArray[np.signedinteger[Any]]

    def __getitem__(self, rows: Any) -> NDArray[np.object_]:
        """Values of some rows, the same objects however often they come; None where there is none."""
        values: NDArray[np.object_] = self._objects[self.places[rows]]
        return values

    def take(self, rows: NDArray[np.signedinteger[Any]]) -> "Repeated":
        """Rows in another order."""
        return Repeated(self.values, self.places[rows])

    def numbers(self, rows: Any) -> NDArray[np.float64]:
        """The same of numbers; NaN where there is none."""
        values: NDArray[np.float64] = np.array([*self.values, np.nan], dtype=np.float64)[self.places[rows]]
        return values

    @property
    def valid(self) -> NDArray[np.bool_]:
        """Which rows have a value."""
        return self.places >= 0

    @cached_property
    def _objects(self) -> NDArray[np.object_]:
        known = np.empty(len(self.values) + 1, dtype=object)
        known[:-1] = self.values
        return known


@dataclass(frozen=True)
class ScoreRows:
    """All rows of a scored table, sorted by cell, measurement and seed."""

    cells: dict[str, slice]
    """Where the rows of each cell are."""

    repeated: dict[str, Repeated]
    numbers: dict[str, NDArray[np.float64]]
    """NaN where a row has none."""

    settings: Settings
    """Parameters that all rows of a cell share."""

    lacking: Mapping[str, int]
    """By metric, rows without an error that have no value, not even NaN."""

    def __len__(self) -> int:
        return len(self.repeated["cell"].places)

    def failed(self, rows: slice = slice(None)) -> NDArray[np.bool_]:
        """Which of some rows carry an error."""
        if "error" not in self.repeated:
            return np.zeros(len(self.repeated["cell"].places[rows]), dtype=bool)
        return self.repeated["error"].places[rows] >= 0

    def column(self, name: str, rows: Any = slice(None)) -> NDArray[np.float64]:
        """Numbers of some rows, NaN where one has none."""
        return self.numbers[name][rows] if name in self.numbers else self.repeated[name].numbers(rows)

    def first_repeat(self) -> int | None:
        """A row whose keys are those of the row before it."""
        places = [self.repeated[name].places for name in KEYS]
        same = np.logical_and.reduce([column[1:] == column[:-1] for column in places])
        return int(same.argmax()) + 1 if same.any() else None


class Gathering:
    """Rows on their way into `ScoreRows`; every part has the same schema."""

    def __init__(self, schema: pa.Schema, roles: Roles):
        beside = [name for name in (*_BESIDE, *ROW_COSTS, *PROVENANCE) if name in schema.names]
        numeric = [name for name in beside if pa.types.is_floating(schema.field(name).type)]
        self._numbers = {name: _Filling(np.dtype(np.float64)) for name in (*roles.metrics, *numeric)}
        self._repeated = {name: _Growing() for name in (*KEYS, *beside) if name not in self._numbers}
        self._settings = {name: _Setting() for name in roles.parameters}
        self._metrics, self._lacking = roles.metrics, Counter[str]()

    def add(self, table: pa.Table) -> None:
        """More rows, in any order."""
        places = {name: column.add(table[name]) for name, column in self._repeated.items()}
        cells = places["cell"]
        for name, setting in self._settings.items():
            setting.add(cells, table[name])
        for name, numbers in self._numbers.items():
            numbers.add(table[name].to_numpy().astype(np.float64))  # null becomes NaN
        if any(table[name].null_count for name in self._metrics):
            solved = table.filter(pc.is_null(table["error"])) if "error" in table.column_names else table
            self._lacking.update({name: solved[name].null_count for name in self._metrics})

    def rows(self) -> ScoreRows:
        """All that was added, sorted; nothing is left here."""
        shared = {name: setting.by_cell() for name, setting in self._settings.items()}
        settings = {
            cell: {name: column[place] for name, column in shared.items() if column[place] is not _DIFFER}
            for cell, place in self._repeated["cell"].known.items()
        }
        keys = [self._repeated.pop(name).in_order() for name in KEYS]
        order = _order(keys)
        columns = {name: key.take(order) for name, key in zip(KEYS, keys, strict=True)}
        for name in list(self._repeated):  # one after the other: both orders of all would be twice the memory
            columns[name] = self._repeated.pop(name).in_order().take(order)
        numbers = {name: self._numbers.pop(name).filled[order] for name in list(self._numbers)}
        return ScoreRows(_slices(columns["cell"]), columns, numbers, settings, self._lacking)


class _Filling:
    """An array that doubles when it is full.

    Large arrays go back to the system whole; as many small ones would leave holes that stay.
    """

    def __init__(self, kind: np.dtype[Any]) -> None:
        self._array, self._count = np.empty(_FIRST, kind), 0

    def add(self, part: NDArray[Any]) -> None:
        kind, count = np.promote_types(self._array.dtype, part.dtype), self._count + len(part)
        if count > len(self._array) or kind != self._array.dtype:
            grown = np.empty(max(len(self._array), 2 * count if count > len(self._array) else 0), kind)
            grown[: self._count] = self.filled
            self._array = grown
        self._array[self._count : count] = part
        self._count = count

    @property
    def filled(self) -> NDArray[Any]:
        return self._array[: self._count]


class _Growing:
    """A column that repeats, as it comes: its values in the order of their first rows, and the places of all rows."""

    def __init__(self) -> None:
        self.known: dict[Any, int] = {}
        self._places = _Filling(np.dtype(np.int8))

    def add(self, column: pa.ChunkedArray) -> NDArray[np.signedinteger[Any]]:
        """More rows; their places."""
        places = _places(column, self.known)
        self._places.add(places)
        return places

    def in_order(self) -> Repeated:
        """With the values sorted, so that places sort as the values do."""
        values = list(self.known)
        ranked = sorted(range(len(values)), key=values.__getitem__)
        ranks = np.empty(len(values) + 1, dtype=_kind(len(values)))
        ranks[ranked], ranks[-1] = np.arange(len(values)), -1
        return Repeated([values[place] for place in ranked], ranks[self._places.filled])


class _Setting:
    """A parameter as it comes: by the place of a cell, that of the one value that all its rows have."""

    def __init__(self) -> None:
        self._known: dict[Any, int] = {}
        self._of_cell = np.empty(0, dtype=np.int32)

    def add(self, cells: NDArray[np.signedinteger[Any]], column: pa.ChunkedArray) -> None:
        own, more = _places(column, self._known), int(cells.max(initial=-1)) + 1 - len(self._of_cell)
        self._of_cell = np.append(self._of_cell, np.full(max(0, more), _UNSEEN, dtype=np.int32))
        new = self._of_cell[cells] == _UNSEEN
        self._of_cell[cells[new]] = own[new]
        self._of_cell[cells[self._of_cell[cells] != own]] = _VARIES

    def by_cell(self) -> list[Any]:
        """Table libraries write NaN where a number does not apply, and NaN equals nothing, not even itself."""
        values = [None if value is math.nan else value for value in self._known]
        aside = {_ABSENT: None, _VARIES: _DIFFER}
        return [aside[place] if place < 0 else values[place] for place in self._of_cell.tolist()]


_ABSENT, _VARIES, _UNSEEN = -1, -2, -3
"""Of a cell instead of a place: its rows have no value, they differ, or there is no row yet."""
_DIFFER = object()
"""Stands for the value of a parameter that changes inside a cell: it belongs to its measurements."""


def _places(column: pa.ChunkedArray, known: dict[Any, int]) -> NDArray[np.signedinteger[Any]]:
    """The rows' values as places in what is known, which grows by them; -1 where there is none."""
    if pa.types.is_null(column.type):
        return np.full(len(column), -1, dtype=np.int8)
    encoded = column.combine_chunks()
    encoded = encoded if pa.types.is_dictionary(encoded.type) else encoded.dictionary_encode()
    values = (math.nan if value != value else value for value in encoded.dictionary.to_pylist())
    own = [known.setdefault(value, len(known)) for value in values]
    in_known = np.array([*own, -1], dtype=_kind(len(known)))
    places: NDArray[np.signedinteger[Any]] = in_known[encoded.indices.fill_null(len(own)).to_numpy()]
    return places


def _kind(count: int) -> np.dtype[Any]:
    """The smallest whole numbers that hold places in so many values, and what is below 0."""
    return np.min_scalar_type(-max(count, 4))


def _order(keys: Sequence[Repeated]) -> NDArray[np.signedinteger[Any]]:
    """The rows by these columns, the first one first."""
    whole = np.zeros(len(keys[0].places), dtype=np.int64)
    for key in keys:
        whole *= len(key.values)
        whole += key.places
    order = np.argsort(whole, kind="stable")
    return order.astype(_kind(len(order)))


def _slices(cell: Repeated) -> dict[str, slice]:
    starts = np.flatnonzero(np.diff(cell.places, prepend=-1)).tolist()
    ends = [*starts[1:], len(cell.places)]
    return {cell.values[cell.places[start]]: slice(start, end) for start, end in zip(starts, ends, strict=True)}
