"""Write shards: each is put in place whole, and only the next one is in memory."""

import re

import pyarrow as pa
import pyarrow.parquet as pq

from operators import InputError
from pipelines.manifest.manifest_record import SUMMARY_NAME, Shard, Summary, write_summary
from pipelines.manifest.schema import SCHEMA
from pipelines.storage import Store

GROUP_ROWS = 64
GROUP_BYTES = 8 * 2**20
"""A row group, the least that can be fetched, ends at this many rows or bytes."""

SHARD_BYTES = 32 * 2**20
"""A shard ends here even if it may have more rows."""

BUILDING_NAME = "manifest.building"
"""Marks a folder as ours while it has no manifest.json, so that nobody else's files are ever replaced."""

_SHARD_NAME = re.compile(r"part-\d{5,}\.parquet")


class ShardWriter:
    """Collects rows into row groups and shards; nothing in the store changes before the first shard is full."""

    def __init__(self, store: Store, rows_per_shard: int):
        self.store, self.rows_per_shard = store, rows_per_shard
        self.shards: list[Shard] = []
        self._pending: list[pa.RecordBatch] = []
        self._sink: pa.BufferOutputStream | None = None
        self._writer: pq.ParquetWriter | None = None
        self._rows = 0

    def add(self, batch: pa.RecordBatch) -> None:
        while batch.num_rows:
            rows, size = _rows(self._pending), sum(part.nbytes for part in self._pending)
            fitting = (GROUP_BYTES - size) * batch.num_rows // batch.nbytes
            room = min(max(1, fitting), GROUP_ROWS - rows, self.rows_per_shard - self._rows - rows)
            part, batch = batch.slice(0, room), batch.slice(room)
            self._pending.append(part)
            rows += part.num_rows
            full = self._rows + rows >= self.rows_per_shard
            if full or rows >= GROUP_ROWS or part.num_rows >= fitting:
                self._end_group()
            if full or (self._sink is not None and self._sink.tell() >= SHARD_BYTES):
                self._end_shard()

    def finish(self, summary: Summary) -> Summary:
        """Put down the last shard, and then the summary that makes the manifest complete."""
        self._end_group()
        self._end_shard()
        complete = summary.model_copy(update={"shards": self.shards})
        write_summary(self.store, complete)
        self.store.delete(BUILDING_NAME)
        return complete

    def _end_group(self) -> None:
        if not self._pending:
            return
        if self._writer is None:
            self._sink = pa.BufferOutputStream()
            self._writer = pq.ParquetWriter(
                self._sink,
                SCHEMA,
                compression="zstd",
                compression_level=1,
                use_dictionary=["task", "signal", "operator", "operator_params", "label"],
                write_statistics=["id"],
            )
        table = pa.Table.from_batches(self._pending).combine_chunks()
        self._writer.write_table(table, row_group_size=GROUP_ROWS)
        self._rows += table.num_rows
        self._pending = []

    def _end_shard(self) -> None:
        if self._writer is None or self._sink is None:
            return
        if not self.shards:
            self._clear()
        self._writer.close()
        name = f"part-{len(self.shards):05d}.parquet"
        self.store.write_bytes(name, self._sink.getvalue().to_pybytes())
        self.shards.append(Shard(name=name, rows=self._rows))
        self._writer, self._sink, self._rows = None, None, 0

    def _clear(self) -> None:
        """An old manifest stops being one before its first shard changes."""
        self.store.write_bytes(BUILDING_NAME, b"A manifest is being built here.\n")
        self.store.delete(SUMMARY_NAME)
        for name in self.store.list():
            if _SHARD_NAME.fullmatch(name):
                self.store.delete(name)


def check_place(store: Store, source: Store | None = None) -> None:
    """Refuse a folder that holds other things than a manifest, finished or not, or that the next build would read."""
    if source is not None and f"{store.url()}/".startswith(f"{source.url()}/"):
        raise InputError(f"out: {store.url()} lies in the source; give a folder outside it.")
    names = store.list()
    if names and not {SUMMARY_NAME, BUILDING_NAME} & set(names):
        raise InputError(f"out: {store.url()} holds other files, {names[0]} for one; give a new or empty folder.")


def _rows(batches: list[pa.RecordBatch]) -> int:
    return sum(batch.num_rows for batch in batches)
