"""From storage to Arrow: the work items of a shard with their measurements, read ahead of the devices."""

import json
from bisect import bisect
from collections.abc import Callable
from functools import lru_cache
from itertools import accumulate

import pyarrow as pa

from pipelines.manifest import Manifest, content_digest, read_row
from pipelines.plan.cells import Cell
from pipelines.plan.work_items import Shard
from pipelines.storage import ParquetReader, readable
from pipelines.storage.sweep_folder import SweepFolder


class Attach:
    """Reads the work items of a shard and their measurements from storage into one Arrow batch.

    The batch travels as one row, an Arrow stream: Ray Data cuts and joins rows as it likes, but never splits one.
    """

    def __init__(
        self, output: str, manifest: str, plan: str, run: str = "", given: Callable[[int], Shard] | None = None
    ):
        self.output, self.manifest, self.plan, self.given = output, manifest, plan, given
        """In a race `given` waits for the shard of a ticket, which is all that it is called with."""
        self.run = run
        """What a worker has read for another run, it reads again: manifest and plan may have been made anew."""

    def __call__(self, refs: pa.Table) -> pa.Table:
        (ref,) = refs.to_pylist()
        shard = Shard(ref["shard"], ref["first"], ref["count"]) if self.given is None else self.given(ref["ticket"])
        items = read_items(self.output, self.plan, shard.first, shard.count, self.run)
        places = list(zip(items["manifest_shard"].to_pylist(), items["manifest_row"].to_pylist(), strict=True))
        measured = _manifest(self.manifest, self.run).fetch_measured(places, items["measurement_digest"].to_pylist())
        items = items.append_column("content_digest", pa.array(_content_digests(measured), pa.string()))
        for name in measured.column_names:
            if name not in (*items.column_names, "truth"):
                items = items.append_column(name, measured[name])
        cells = _cells(self.output, self.plan)
        own = [cells[index] for index in items["cell_index"].to_pylist()]
        for name in ("arm", "method", "prior"):
            items = items.append_column(name, pa.array([getattr(cell, name) for cell in own], pa.string()))
        items = items.append_column("settings", pa.array([json.dumps(cell.settings) for cell in own], pa.string()))
        return pa.table({"shard": [shard.name], "items": pa.array([to_stream(items)], pa.large_binary())})


def _content_digests(measured: pa.Table) -> list[str]:
    """What each row's content comes to; the cells of a measurement are neighbours, so each is hashed once."""
    known: dict[str, str] = {}
    for index, digest in enumerate(measured["digest"].to_pylist()):
        if digest not in known:
            known[digest] = content_digest(read_row(measured, index))
    return [known[digest] for digest in measured["digest"].to_pylist()]


def to_stream(table: pa.Table) -> bytes:
    """A table as Arrow's own stream of bytes."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    stream: bytes = sink.getvalue().to_pybytes()
    return stream


def read_items(output: str, plan: str, first: int, count: int, run: str = "") -> pa.Table:
    """Rows first..first+count of a plan, reading only the row groups that hold them."""
    file = _plan_file(output, plan, run)
    groups = range(bisect(file.starts, first) - 1, bisect(file.starts, first + count - 1))
    rows = pa.concat_tables([file.group(group) for group in groups])
    return rows.slice(first - file.starts[groups[0]], count)


class _PlanFile:
    """A written plan, of which a few decoded row groups are kept: thousands of shards may lie in one."""

    def __init__(self, output: str, plan: str):
        folder = SweepFolder(output)
        self.url = folder.store.url(folder.plan_name(plan))
        with readable(self.url):
            self.file = ParquetReader(folder.store.open_source(folder.plan_name(plan)))
        sizes = [self.file.metadata.row_group(group).num_rows for group in range(self.file.metadata.num_row_groups)]
        self.starts = [0, *accumulate(sizes[:-1])]
        """The first row of each group."""
        self.group = lru_cache(maxsize=4)(self._read_group)

    def _read_group(self, group: int) -> pa.Table:
        with readable(self.url):
            return self.file.read_group(group)


@lru_cache(maxsize=4)
def _plan_file(output: str, plan: str, run: str) -> _PlanFile:
    return _PlanFile(output, plan)


@lru_cache(maxsize=4)
def _manifest(url: str, run: str) -> Manifest:
    return Manifest.open(url)


@lru_cache(maxsize=4)
def _cells(output: str, plan: str) -> list[Cell]:
    return SweepFolder(output).cells(plan)
