"""The work items of a written plan, read from the store a part at a time: none of them has to stay in memory."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pipelines.plan.work_items import OWN_ROWS, Shard
from pipelines.schemas import ITEM_SCHEMA
from pipelines.storage import ParquetReader, readable
from pipelines.storage.sweep_folder import SweepFolder

_COLUMNS = [name for name in ITEM_SCHEMA.names if name != "solver_seed"]
_NAMES = ["shard", "measurement", "measurement_digest", "cell"]
"""Columns whose values repeat: kept as numbers into a dictionary, a plan of millions takes little memory."""


class PlannedItems:
    """Rows in the plan's order: item, shard, measurement, its digest and place, cell."""

    def __init__(self, folder: SweepFolder, plan: str):
        self.folder, self.plan = folder, plan

    @cached_property
    def table(self) -> pa.Table:
        """All rows, for a race, which counts them again and again; 70 bytes each for as long as the plan lives."""
        with readable(self._url):
            return self._file.read(_COLUMNS).unify_dictionaries()

    def parts(self, columns: Sequence[str] = _COLUMNS) -> Iterator[pa.Table]:
        """These columns of all rows, a group of them at a time."""
        if "table" in self.__dict__:
            yield self.table.select([name for name in columns if name in self.table.column_names])
            return
        for group in range(self._file.metadata.num_row_groups):
            with readable(self._url):
                part = self._file.read_group(group, columns).select([*columns])
            yield part

    @cached_property
    def _file(self) -> ParquetReader:
        """The plan's file, opened once; a ValueError, as a sentence, where it is none."""
        source = self.folder.store.open_source(self.folder.plan_name(self.plan))
        with readable(self._url):
            try:
                file = ParquetReader(source, dictionary=_NAMES)
            except KeyError:  # of a column that is to be a dictionary and is not there
                file = ParquetReader(source)
            if not {*ITEM_SCHEMA.names} <= {*file.schema.names}:
                raise ValueError("its columns are not those of a plan")
            if _has_nulls(file.metadata):
                raise ValueError("some of its values are missing")
            return file

    @property
    def _url(self) -> str:
        return self.folder.store.url(self.folder.plan_name(self.plan))

    def only(self, wanted: NDArray[np.bool_]) -> "PlannedItems":
        """Some of the rows, in the same order."""
        some = PlannedItems(self.folder, self.plan)
        some.__dict__["table"] = self.table.filter(pa.array(wanted))
        return some

    def __len__(self) -> int:
        return len(self.table) if "table" in self.__dict__ else int(self._file.metadata.num_rows)

    @property
    def own(self) -> int:
        """How many rows, the first of the whole plan, are its own to solve; others were solved before it."""
        metadata = self._file.metadata
        return int((metadata.metadata or {}).get(OWN_ROWS.encode(), metadata.num_rows))

    @property
    def ids(self) -> pa.Array:
        """Of all items."""
        return pa.concat_arrays([pa.array([], pa.string()), *(chunk for chunk in self._ids())])

    def ids_of(self, shards: Iterable[Shard]) -> Iterator[pa.Array]:
        """The ids of each of these shards, which are in the plan's order."""
        return windows(self._ids(), shards)

    def _ids(self) -> Iterator[pa.Array]:
        return (part["item"].combine_chunks() for part in self.parts(["item"]))

    @cached_property
    def shards(self) -> list[Shard]:
        """The shards in the plan's order."""
        names, firsts, rows = list[str](), list[int](), 0
        for part in self.parts(["shard"]):
            column = _encoded(part["shard"])
            codes = column.indices.to_numpy()
            starts = np.flatnonzero(np.diff(codes, prepend=-1))
            here = column.dictionary.take(pa.array(codes[starts])).to_pylist()
            goes_on = int(bool(names and here and names[-1] == here[0]))
            names += here[goes_on:]
            firsts += (rows + starts[goes_on:]).tolist()
            rows += len(codes)
        counts = np.diff(firsts, append=rows).tolist()
        return [Shard(*shard) for shard in zip(names, firsts, counts, strict=True)]

    def per_cell(self, without: Collection[str] = ()) -> dict[str, int]:
        """How many items each cell has, without those of some shards."""
        left_out = pa.array(sorted(without), pa.string())
        cells: Counter[str] = Counter()
        for part in self.parts(["cell", "shard"] if without else ["cell"]):
            if without:
                part = part.filter(pc.invert(pc.is_in(part["shard"].cast(pa.string()), value_set=left_out)))
            counts = pc.value_counts(part["cell"].combine_chunks()).to_pylist()
            cells.update({row["values"]: row["counts"] for row in counts})
        return dict(cells)

    def first_rows(self, by: str, **wanted: Iterable[Any]) -> pa.Table:
        """The first row of every value of a column, in the plan's order, of all rows or as `where` has them."""
        known, rows = set[Any](), list[pa.Table]()
        for part in self._filtered(wanted):
            column = _encoded(part[by])
            codes, firsts = np.unique(column.indices.to_numpy(), return_index=True)
            values = column.dictionary.take(pa.array(codes)).to_pylist()
            new = [row for row, value in zip(firsts.tolist(), values, strict=True) if value not in known]
            known.update(values)
            rows.append(_plain(part.take(pa.array(sorted(new), pa.int64()))))
        return pa.concat_tables(rows or [_NONE])

    def where(self, **wanted: Iterable[Any]) -> pa.Table:
        """The rows whose columns have one of these values each, names as text."""
        return pa.concat_tables([*map(_plain, self._filtered(wanted))] or [_NONE])

    def _filtered(self, wanted: Mapping[str, Iterable[Any]]) -> Iterator[pa.Table]:
        values = {name: pa.array([*some], ITEM_SCHEMA.field(name).type) for name, some in wanted.items()}
        for part in self.parts():
            for name, some in values.items():
                part = part.filter(pc.is_in(part[name].cast(some.type), value_set=some))
            yield part


def windows(parts: Iterator[pa.Array], shards: Iterable[Shard]) -> Iterator[pa.Array]:
    """Of rows that come a part at a time those of each of these shards, whose places ascend."""
    held, start = pa.array([], pa.string()), 0
    for shard in shards:
        while start + len(held) < shard.first + shard.count and (part := next(parts, None)) is not None:
            passed = min(max(shard.first - start, 0), len(held))
            held, start = pa.concat_arrays([held.slice(passed), part]), start + passed
        yield held.slice(max(shard.first - start, 0), shard.count)


_NONE = pa.schema([ITEM_SCHEMA.field(name) for name in _COLUMNS]).empty_table()


def _encoded(column: pa.ChunkedArray) -> pa.DictionaryArray:
    array = column.combine_chunks()
    return array if pa.types.is_dictionary(array.type) else array.dictionary_encode()


def _plain(table: pa.Table) -> pa.Table:
    schema = pa.schema([ITEM_SCHEMA.field(name) for name in table.column_names])
    return table.cast(schema)


def _has_nulls(metadata: Any) -> bool:
    """As the footer counts them; no column is read."""
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    counts = [group.column(place).statistics for group in groups for place in range(group.num_columns)]
    return any(count is not None and count.null_count for count in counts)
