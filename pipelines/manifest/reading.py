"""Open a manifest: stream its light columns, fetch single rows."""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from operators import InputError
from pipelines.manifest.manifest_record import SUMMARY_NAME, Summary, read_summary
from pipelines.manifest.schema import LIGHT_COLUMNS, SCHEMA
from pipelines.storage import ParquetReader, Store, open_store

CACHE_BYTES = 128 * 2**20
"""Decoded row groups kept for the next fetch."""

INDEX_ROWS = 1024
"""Rows in a batch of the index."""

_OPEN_SHARDS = 64

Place = tuple[int, int]
"""Number of the shard, number of the row in it."""


class Manifest:
    """A complete manifest; it travels to workers as its URL alone."""

    def __init__(self, store: Store, summary: Summary):
        self.store, self.summary = store, summary
        self._shards: OrderedDict[int, ParquetReader] = OrderedDict()
        self._groups: OrderedDict[Place, pa.Table] = OrderedDict()

    @classmethod
    def open(cls, url: str) -> "Manifest":
        """The manifest at a path or s3:// URL; an InputError if there is none, or only a part of one."""
        store = open_store(url)
        summary = read_summary(store)
        if summary is None:
            raise InputError(f"manifest {store.url()}: {_why_not(store)}.")
        return cls(store, summary)

    def __reduce__(self) -> tuple[Callable[[str], "Manifest"], tuple[str]]:
        return Manifest.open, (self.url,)

    def __repr__(self) -> str:
        return f"Manifest({self.url!r}, rows={self.rows}, digest={self.digest!r})"

    @property
    def url(self) -> str:
        return self.store.url()

    @property
    def digest(self) -> str:
        return self.summary.digest

    @property
    def rows(self) -> int:
        return self.summary.rows

    @property
    def tasks(self) -> list[str]:
        return list(self.summary.tasks)

    def truthless(self, task: str) -> tuple[int, int]:
        """How many measurements of a task have no ground truth, and of how many."""
        return self.summary.without_truth.get(task, 0), self.summary.task_rows.get(task, 0)

    def index(self, columns: Sequence[str] = LIGHT_COLUMNS) -> Iterator[pa.RecordBatch]:
        """Stream these columns of every row, with its place as `shard` and `row` (both int32)."""
        for shard in range(len(self.summary.shards)):
            row = 0
            for batch in self.shard_batches(shard, columns, INDEX_ROWS):
                places = {
                    "shard": pa.array(np.full(batch.num_rows, shard, dtype=np.int32)),
                    "row": pa.array(np.arange(row, row + batch.num_rows, dtype=np.int32)),
                }
                for name, values in places.items():
                    batch = batch.append_column(name, values)
                row += len(places["row"])
                yield batch

    def shard_batches(self, shard: int, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """Stream some columns of one shard, at most so many rows at a time."""
        unknown = [name for name in columns if name not in SCHEMA.names]
        if unknown:
            raise InputError(f"columns: {unknown[0]!r} is not in a manifest, which has {', '.join(SCHEMA.names)}.")
        try:
            for batch in self._shard(shard).batches(columns, rows):
                batch.validate(full=True)  # text that is not UTF-8 would only show where it is used
                yield batch.select([*columns])
        except (pa.ArrowException, OSError) as error:
            raise self._unreadable(shard, error) from None

    def fetch(self, places: Sequence[Place]) -> pa.Table:
        """The rows at these places, whole and in this order; only the row groups they lie in are read."""
        wanted: dict[Place, list[tuple[int, int]]] = {}
        for position, (shard, row) in enumerate(places):
            group, offset = self._locate(shard, row)
            wanted.setdefault((shard, group), []).append((position, offset))
        parts, order = [SCHEMA.empty_table()], []
        for (shard, group), rows in wanted.items():
            parts.append(self._group(shard, group).take([offset for _, offset in rows]))
            order += [position for position, _ in rows]
        return pa.concat_tables(parts).take(np.argsort(np.asarray(order, dtype=np.int64), kind="stable"))

    def fetch_measured(self, places: Sequence[Place], digests: Sequence[str]) -> pa.Table:
        """The measurements of these digests, in this order; where they are not at their places, wherever they are.

        A manifest that was built anew, in other shards or with more tasks, holds the same rows at other places.
        """
        if all(self._has(place) for place in places):
            table = self.fetch(places)
            if table["digest"].to_pylist() == [*digests]:
                return table
        gone = next((digest for digest in digests if digest not in self._places), None)
        if gone is not None:
            raise InputError(
                f"manifest {self.url}: the measurement of digest {gone[:12]} is not in it any more; it was built anew "
                "since the sweep was planned. Build it as it was, or sweep into another output."
            )
        return self.fetch([self._places[digest] for digest in digests])

    @cached_property
    def _places(self) -> dict[str, Place]:
        rows = (row for batch in self.index(["digest"]) for row in batch.to_pylist())
        return {row["digest"]: (row["shard"], row["row"]) for row in rows}

    def _has(self, place: Place) -> bool:
        shard, row = place
        return 0 <= shard < len(self.summary.shards) and 0 <= row < self.summary.shards[shard].rows

    @cached_property
    def _filesystem(self) -> Any:
        return self.store.filesystem

    def _locate(self, shard: int, row: int) -> tuple[int, int]:
        if not self._has((shard, row)):
            raise InputError(f"place ({shard}, {row}): manifest {self.url} has no such shard and row.")
        metadata, offset = self._shard(shard).metadata, row
        for group in range(metadata.num_row_groups):
            size = metadata.row_group(group).num_rows
            if offset < size:
                return group, offset
            offset -= size
        raise self._unreadable(shard, f"it has {row - offset} rows and {SUMMARY_NAME} says more")

    def _group(self, shard: int, group: int) -> pa.Table:
        """A decoded row group, the most recent ones from memory."""
        table = self._groups.pop((shard, group), None)
        if table is None:
            try:
                table = self._shard(shard).read_group(group, SCHEMA.names)
                table.validate(full=True)
            except (pa.ArrowException, OSError) as error:
                raise self._unreadable(shard, error) from None
        self._groups[(shard, group)] = table
        while len(self._groups) > 1 and sum(kept.nbytes for kept in self._groups.values()) > CACHE_BYTES:
            self._groups.popitem(last=False)
        return table

    def _shard(self, shard: int) -> ParquetReader:
        """An open shard with its footer; only so many stay open."""
        file = self._shards.pop(shard, None)
        if file is None:
            path = self.store.path(self.summary.shards[shard].name)
            try:
                file = ParquetReader(self._filesystem.open_input_file(path))
            except (pa.ArrowException, OSError) as error:
                raise self._unreadable(shard, error) from None
            if not file.schema.equals(SCHEMA):
                raise self._unreadable(shard, "its columns are not those of a manifest")
        self._shards[shard] = file
        if len(self._shards) > _OPEN_SHARDS:
            self._shards.popitem(last=False)
        return file

    def _unreadable(self, shard: int, reason: object) -> InputError:
        name, why = self.summary.shards[shard].name, " ".join(str(reason).split())
        return InputError(f"manifest {self.url}: its shard {name} cannot be read ({why}); build it again.")


def _why_not(store: Store) -> str:
    if store.list():
        return f"it is incomplete, having no {SUMMARY_NAME}; run its `g2d2 manifest build` again"
    return "there is no such manifest; `g2d2 manifest build` makes one"


def read_row(table: pa.Table, row: int) -> dict[str, Any]:
    """One row by column name, `y` left as a pyarrow scalar so that its values are not turned into Python numbers."""
    return {name: table[name][row] if name == "y" else table[name][row].as_py() for name in table.column_names}
