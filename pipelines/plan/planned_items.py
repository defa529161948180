"""The work items of a written plan, read from the store once however many look at them."""

from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pipelines.plan.work_items import Shard
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
        """All rows; a ValueError, as a sentence, where they are not those of a plan."""
        name = self.folder.plan_name(self.plan)
        with self.folder.store.open_source(name) as source, readable(self.folder.store.url(name)):
            try:
                file = ParquetReader(source, dictionary=_NAMES)
            except KeyError:  # of a column that is to be a dictionary and is not there
                file = ParquetReader(source)
            if not {*ITEM_SCHEMA.names} <= {*file.schema.names}:
                raise ValueError("its columns are not those of a plan")
            if _has_nulls(file.metadata):
                raise ValueError("some of its values are missing")
            return file.read(_COLUMNS).unify_dictionaries()

    def only(self, wanted: NDArray[np.bool_]) -> "PlannedItems":
        """Some of the rows, in the same order."""
        some = PlannedItems(self.folder, self.plan)
        some.__dict__["table"] = self.table.filter(pa.array(wanted))
        return some

    def __len__(self) -> int:
        return len(self.table)

    @cached_property
    def ids(self) -> pa.Array:
        """Of all items."""
        return self.table["item"].combine_chunks()

    @cached_property
    def shards(self) -> list[Shard]:
        """The shards in the plan's order."""
        column = self.table["shard"].combine_chunks()
        if not len(column):
            return []
        codes = column.indices.to_numpy()
        firsts = np.flatnonzero(np.diff(codes, prepend=-1))
        names = column.dictionary.take(pa.array(codes[firsts])).to_pylist()
        counts = np.diff(firsts, append=len(codes)).tolist()
        return [Shard(*shard) for shard in zip(names, firsts.tolist(), counts, strict=True)]

    def per_cell(self) -> dict[str, int]:
        """How many items each cell has."""
        counts = pc.value_counts(self.table["cell"].combine_chunks())
        return {row["values"]: row["counts"] for row in counts.to_pylist()}

    def first_rows(self, by: str) -> pa.Table:
        """The first row of every value of a column, in the plan's order."""
        column = self.table[by].combine_chunks()
        codes = (column if pa.types.is_dictionary(column.type) else column.dictionary_encode()).indices.to_numpy()
        _, firsts = np.unique(codes, return_index=True)
        return _plain(self.table.take(pa.array(np.sort(firsts))))

    @cached_property
    def plain(self) -> pa.Table:
        """All rows with names as text, for those who look into a few."""
        return _plain(self.table)


def _plain(table: pa.Table) -> pa.Table:
    schema = pa.schema([ITEM_SCHEMA.field(name) for name in table.column_names])
    return table.cast(schema)


def _has_nulls(metadata: Any) -> bool:
    """As the footer counts them; no column is read."""
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    counts = [group.column(place).statistics for group in groups for place in range(group.num_columns)]
    return any(count is not None and count.null_count for count in counts)
