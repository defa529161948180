"""Work items by columns: measurements times cells times seeds, cut into shards and written as Parquet.

A row is three numbers, the places of its measurement, cell and seed, and the 16 bytes of its id: a grid may hold
millions, and none of them is a Python object of its own.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from hashlib import blake2b
from itertools import count, groupby
from typing import IO, Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from pipelines.plan.cells import Cell
from pipelines.plan.item_ids import ITEM_BYTES, fingerprint, item_tail, solver_seed
from pipelines.schemas import ITEM_SCHEMA

ROWS_PER_GROUP = 65_536
"""Rows made and written at once. A group repeats the names it refers to: fewer groups, smaller plans."""
OWN_ROWS = "own_rows"
"""Names in a plan's footer how many of its rows are its own to solve; those behind them are taken over as solved."""
_RAW = f"S{ITEM_BYTES}"

Ids = NDArray[np.bytes_]
Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Shard:
    """Consecutive rows of the plan that are solved and committed together."""

    name: str
    first: int
    count: int


@dataclass(frozen=True)
class Held:
    """Items that need no solving, and the solved shard that holds each."""

    ids: Ids
    shards: Numbers
    """Places in `names`."""
    names: list[str]

    @cached_property
    def _order(self) -> Numbers:
        return np.argsort(self.ids, kind="stable")

    @cached_property
    def _sorted(self) -> Ids:
        return self.ids[self._order]

    def find(self, ids: Ids) -> Numbers:
        """The shard of each id; -1 where none holds it."""
        if not len(self.ids):
            return np.full(len(ids), -1)
        at = np.minimum(np.searchsorted(self._sorted, ids), len(self.ids) - 1)
        return np.where(self._sorted[at] == ids, self.shards[self._order[at]], -1)


def raw_ids(column: pa.Array | pa.ChunkedArray) -> Ids:
    """Ids as they are compared; a ValueError where one is no id."""
    raw = bytes.fromhex("".join(column.to_pylist()))
    if len(raw) != ITEM_BYTES * len(column):
        raise ValueError("an id in it is not 32 hexadecimal digits")
    return np.frombuffer(raw, _RAW)


@dataclass(frozen=True)
class Rows:
    """Columns that say all about some work items."""

    ids: Ids
    places: Numbers
    cells: Numbers
    seeds: Numbers
    held: Numbers
    """The solved shard that holds each, as `Held.find` has it."""

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, rows: Any) -> Self:
        return type(self)(*(getattr(self, field.name)[rows] for field in fields(self)))

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        return cls(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(cls)))


class Group:
    """Cells of one task that can share a batch, with all seeds: what every measurement of the task is solved with."""

    def __init__(self, cells: list[Cell], seeds: Sequence[int]):
        self.tails = [item_tail(cell.recipe, seed) for seed in seeds for cell in cells]
        self.cells = np.tile([cell.index for cell in cells], len(seeds))
        self.seeds = np.repeat(np.arange(len(seeds)), len(cells))


class WorkItems:
    """All work items of a plan. `places` are measurements as `select_places` gives them."""

    def __init__(self, cells: list[Cell], places: pa.Table, seeds: Sequence[int], held: Held, shard: int):
        self.cells, self.places, self.seeds, self.held, self.shard = cells, places, seeds, held, shard
        self._digests = [digest.encode() for digest in places["digest"].to_pylist()]
        draws = [[solver_seed(own, seed) for seed in seeds] for own in places["seed"].to_pylist()]
        self._draws = np.array(draws, dtype=np.int64)

    def write(self, file: IO[bytes], taken: set[str]) -> list[Shard]:
        """The plan as Parquet; `taken` are names that new shards must not have."""
        shards: list[Shard] = []
        rows = own = 0
        with pq.ParquetWriter(file, ITEM_SCHEMA, compression="zstd", use_dictionary=_REPEATED) as writer:
            pending: list[pa.Table] = []
            for part, cuts in self._parts():
                names = self._names(part, cuts, taken)
                for name, first, end in zip(names, cuts, [*cuts[1:], len(part)], strict=True):
                    shards.append(Shard(name, rows + first, end - first))
                pending.append(self._table(part, names, cuts))
                rows += len(part)
                own += int((part.held < 0).sum())
                if sum(map(len, pending)) >= ROWS_PER_GROUP:
                    writer.write_table(pa.concat_tables(pending))
                    pending = []
            if pending:
                writer.write_table(pa.concat_tables(pending))
            writer.add_key_value_metadata({OWN_ROWS: str(own)})
        return shards

    def _parts(self) -> Iterator[tuple[Rows, list[int]]]:
        """Rows with the places where shards begin: new ones first, then what is held, shard by shard."""
        aside: list[Rows] = []
        for blocks in self._kinds():
            rest: list[Rows] = []
            for block in blocks:
                fresh = block.held < 0
                aside += [block.take(~fresh)] if not fresh.all() else []
                rows = Rows.joined([*rest, block.take(fresh)])
                whole = len(rows) // self.shard * self.shard
                if whole:
                    yield rows.take(slice(whole)), list(range(0, whole, self.shard))
                rest = [rows.take(slice(whole, None))]
            if rest and len(rest[0]):
                yield rest[0], [0]
        if aside:
            yield from by_shard(Rows.joined(aside))

    def _kinds(self) -> Iterator[Iterator[Rows]]:
        """Rows that can share a batch, in blocks, for each such kind; all cells of a measurement are neighbours."""
        groups: dict[tuple[Any, ...], dict[str, list[Cell]]] = {}
        for cell in self.cells:
            groups.setdefault(cell.batch_key(), {}).setdefault(cell.task, []).append(cell)
        kinds, tasks = self.places["kind"].to_pylist(), self.places["task"].to_pylist()
        order = sorted(range(len(kinds)), key=kinds.__getitem__)
        for key in sorted(groups, key=repr):
            of_task = {task: Group(cells, self.seeds) for task, cells in groups[key].items()}
            for _, places in groupby(order, key=kinds.__getitem__):
                yield self._blocks((place, of_task[tasks[place]]) for place in places if tasks[place] in of_task)

    def _blocks(self, measured: Iterable[tuple[int, Group]]) -> Iterator[Rows]:
        pending: list[tuple[int, Group]] = []
        rows = 0
        for place, group in measured:
            pending.append((place, group))
            rows += len(group.tails)
            if rows >= ROWS_PER_GROUP:
                yield self._rows(pending)
                pending, rows = [], 0
        if pending:
            yield self._rows(pending)

    def _rows(self, measured: list[tuple[int, Group]]) -> Rows:
        digests = ((self._digests[place], group.tails) for place, group in measured)
        raw = [blake2b(digest + tail, digest_size=ITEM_BYTES).digest() for digest, tails in digests for tail in tails]
        ids = np.frombuffer(b"".join(raw), _RAW)
        return Rows(
            ids,
            np.repeat([place for place, _ in measured], [len(group.tails) for _, group in measured]),
            np.concatenate([group.cells for _, group in measured]),
            np.concatenate([group.seeds for _, group in measured]),
            self.held.find(ids),
        )

    def _names(self, rows: Rows, cuts: list[int], taken: set[str]) -> list[str]:
        held = rows.held[cuts]
        if held[0] >= 0:
            return [self.held.names[shard] for shard in held.tolist()]
        items = _hex(rows.ids)
        ends = [*cuts[1:], len(rows)]
        return [_shard_name(items.slice(a, b - a).to_pylist(), taken) for a, b in zip(cuts, ends, strict=True)]

    def _table(self, rows: Rows, names: list[str], cuts: list[int]) -> pa.Table:
        shards = np.repeat(np.arange(len(cuts)), np.diff(cuts, append=len(rows)))
        columns = {
            "item": _hex(rows.ids),
            "shard": pa.array(names).take(pa.array(shards)),
            "measurement": self.places["id"].take(pa.array(rows.places)),
            "measurement_digest": self.places["digest"].take(pa.array(rows.places)),
            "manifest_shard": self.places["shard"].take(pa.array(rows.places)),
            "manifest_row": self.places["row"].take(pa.array(rows.places)),
            "cell": self._cell_ids.take(pa.array(rows.cells)),
            "cell_index": rows.cells.astype(np.int32),
            "seed": np.array(self.seeds, dtype=np.int64)[rows.seeds],
            "solver_seed": self._draws[rows.places, rows.seeds],
        }
        return pa.table(columns, schema=ITEM_SCHEMA)

    @cached_property
    def _cell_ids(self) -> pa.Array:
        """By the cells' index, which is their place."""
        return pa.array([cell.id for cell in self.cells], pa.string())


_REPEATED = [name for name in ITEM_SCHEMA.names if name != "item"]
"""Columns whose values repeat within a group."""


def by_shard(rows: Rows) -> Iterator[tuple[Rows, list[int]]]:
    """Held rows in the order in which their shards came first."""
    _, first, shard = np.unique(rows.held, return_index=True, return_inverse=True)
    came = first[shard]
    rows, came = rows.take(order := np.argsort(came, kind="stable")), came[order]
    starts = np.flatnonzero(np.diff(came, prepend=-1))
    while len(starts):
        end = np.searchsorted(starts, starts[0] + ROWS_PER_GROUP)
        stop = starts[end] if end < len(starts) else len(rows)
        yield rows.take(slice(starts[0], stop)), (starts[:end] - starts[0]).tolist()
        starts = starts[end:]


def _shard_name(items: list[str], taken: set[str]) -> str:
    """The same for the same items, unless they were solved before under it and are to be solved again."""
    names = (fingerprint("shard", items, *([again] if again else [])) for again in count())
    return next(name for name in names if name not in taken)


def _hex(ids: Ids) -> pa.Array:
    text = ids.tobytes().hex().encode()
    ends = np.arange(len(ids) + 1, dtype=np.int32) * (2 * ITEM_BYTES)
    return pa.StringArray.from_buffers(len(ids), pa.py_buffer(ends), pa.py_buffer(text))
