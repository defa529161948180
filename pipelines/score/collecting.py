"""All committed scores of a plan's items as one table, written while it is read: shards come one by one, none stays.

What stays are the few bytes of each row that `eval.scores` keeps.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from eval.metrics import COSTS, MetricInfo, metric_info
from eval.score_columns import Roles, filled, united, with_metrics
from eval.scores import ScoreTable
from operators import InputError
from operators.plurals import counted
from pipelines.plan.planned_items import windows
from pipelines.plan.planning import Plan
from pipelines.score.committed import of_items, planned_shards, read_scored
from pipelines.score.scorings import Scoring
from pipelines.storage import ParquetReader, readable
from pipelines.storage.sweep_folder import SweepFolder

_ROWS = 2**12
"""Rows that are read, joined and written together."""
_LOOKS = 16

Taken = TypeVar("Taken")


@dataclass(frozen=True)
class Collected:
    """The table's rows for statistics, and how many items they are of."""

    scores: ScoreTable
    items: int
    """Distinct ones."""


def collect_scores(folder: SweepFolder, plan: Plan, scorings: Sequence[Scoring]) -> Collected:
    """Write the table beside the shards."""
    committed = CommittedScores(folder, plan, scorings)
    name = folder.table_name(plan.id, scorings[0].id)

    def write(file: IO[bytes]) -> ScoreTable:
        with pq.ParquetWriter(file, committed.schema, compression="zstd") as writer:
            return ScoreTable.gathered(
                committed.schema,
                (table for table in committed.tables() if writer.write_table(table) is None),
                lambda: folder.store.read_table(name),
                where=folder.store.url(name),
            )

    scores = committed.under_one_schema(lambda: folder.store.write_with(name, write))
    pa.default_memory_pool().release_unused()
    return Collected(scores, committed.items)


def current_scores(folder: SweepFolder, plan: Plan, scorings: Sequence[Scoring], where: str) -> ScoreTable:
    """Of the collected table, one file instead of thousands, where it is whole; else of what the plan's shards hold."""
    scores = _collected(folder, plan, scorings, where)
    if scores is not None:
        return scores
    committed = CommittedScores(folder, plan, scorings)

    def whole() -> pa.Table:
        return committed.under_one_schema(lambda: pa.concat_tables(committed.tables()))

    return committed.under_one_schema(
        lambda: ScoreTable.gathered(committed.schema, committed.tables(), whole, where=where)
    )


def unscored_notes(scores: ScoreTable, url: str, scorings: Sequence[Scoring]) -> list[str]:
    """A sentence for each metric that lacks images which others have, with what to do about it."""
    sentences, solved = [], len(scores) - scores.errors.total()
    columns = _columns_by_name(scores.roles)
    for name in (name for scoring in scorings[1:] for name in scoring.metrics):
        missing = scores.unscored(columns[name]) if name in columns else 0
        if missing:
            sentences.append(
                f"{columns[name]} is scored for {solved - missing} of {counted(solved, 'image')}: "
                f"`g2d2 score {url} --metrics {name}` goes on"
            )
    return sentences


class CommittedScores:
    """The rows of the first scoring, joined by item with the metrics of the others.

    A setting that a row's method does not have is null, and so is a metric that another scoring has not computed.
    """

    def __init__(self, folder: SweepFolder, plan: Plan, scorings: Sequence[Scoring]):
        self.folder, self.plan = folder, plan
        self._shards = {scoring.id: folder.scored_shards(scoring.id) for scoring in scorings}
        self._own, *added = scorings
        self._columns = {id: _Columns() for id in self._shards}
        for id in self._shards:
            self._look_at_some(id)
        own = self._columns[self._own.id].schema
        if own is None:
            raise InputError(
                f"sweep {folder.url}: nothing is scored yet; `g2d2 sweep` with the same specification goes on."
            )
        self._added: dict[str, list[MetricInfo]] = {}
        known = set(own.names)
        for scoring in added:
            schema = self._columns[scoring.id].schema
            infos = [info for info in _metrics(scoring, schema) if info.name not in known]
            self._added[scoring.id] = infos
            known.update(info.name for info in infos)
        self.items = 0
        """Distinct ones among the rows, once all are read."""

    @property
    def schema(self) -> pa.Schema:
        """Of all rows, as far as the shards that were read have shown it."""
        own = self._columns[self._own.id].schema
        assert own is not None
        table = own.empty_table()
        for infos in self._added.values():
            none = {info.name: pa.chunked_array([pa.array([], pa.float64())]) for info in infos}
            table = with_metrics(table, none, {info.name: info for info in infos})
        return table.schema

    def under_one_schema(self, read: Callable[[], Taken]) -> Taken:
        """What `read` makes of `tables`; anew from the first row where a shard has settings that none had before."""
        while True:
            try:
                return read()
            except _Wider:
                continue

    def tables(self) -> Iterator[pa.Table]:
        """All rows in the plan's order, some thousand at a time."""
        self.items = 0
        pending: list[pa.Table] = []
        for table in self._by_shard():
            pending.append(table)
            if sum(map(len, pending)) >= _ROWS:
                yield pa.concat_tables(pending).combine_chunks()
                pending = []
                pa.default_memory_pool().release_unused()  # else it keeps what all readers once needed
        if pending:
            yield pa.concat_tables(pending).combine_chunks()
        del pending  # what comes now, sorting all rows, needs most
        pa.default_memory_pool().release_unused()

    def _by_shard(self) -> Iterator[pa.Table]:
        plain, whole = self._columns[self._own.id].schema, self.schema

        def read(shard: str) -> dict[str, pa.Table]:
            there = [scoring for scoring, shards in self._shards.items() if shard in shards]
            return {scoring: read_scored(self.folder, scoring, shard) for scoring in there}

        for shard, tables, ids in planned_shards(self.folder, self.plan, self._shards[self._own.id], read):
            wider = [scoring for scoring, table in tables.items() if self._widened(scoring, shard.name, table)]
            if self._own.id in wider:
                raise _Wider
            own = of_items(tables[self._own.id], ids)
            self.items += pc.count_distinct(own["item"]).as_py()
            own = filled(own, plain)
            for scoring, infos in self._added.items():
                own = _joined(own, tables.get(scoring), [info.name for info in infos])
            yield own.replace_schema_metadata(whole.metadata)

    def _look_at_some(self, scoring: str) -> None:
        """Shards of one method are neighbours: some of all over the plan show the settings of most."""
        shards = [shard.name for shard in self.plan.shards if shard.name in self._shards[scoring]]
        for shard in shards[:: -(-len(shards) // _LOOKS) or 1]:
            self._widened(scoring, shard, read_scored(self.folder, scoring, shard))

    def _widened(self, scoring: str, shard: str, table: pa.Table) -> bool:
        with readable(self.folder.store.url(self.folder.scores_name(scoring, shard))):
            return self._columns[scoring].widened(table.schema)


class _Wider(Exception):
    """A shard has columns that were not known when the first rows were made."""


class _Columns:
    """The columns of a scoring, as far as its shards have shown them."""

    def __init__(self) -> None:
        self.schema: pa.Schema | None = None
        self._admitted = set[bytes]()

    def widened(self, other: pa.Schema) -> bool:
        """Whether a shard's columns change those known so far; a ValueError where it is of another scoring."""
        if _bytes(other) in self._admitted:
            return False
        before = other if self.schema is None else self.schema
        try:
            self.schema = united(before, other)
        except InputError as error:  # about the table's metadata, which does not know its file
            raise ValueError(str(error).removeprefix("scores: ").rstrip(".")) from None
        self._admitted.add(_bytes(other))
        return not self.schema.equals(before, check_metadata=True)


def _bytes(schema: pa.Schema) -> bytes:
    stored: bytes = schema.serialize().to_pybytes()
    return stored


def _collected(folder: SweepFolder, plan: Plan, scorings: Sequence[Scoring], where: str) -> ScoreTable | None:
    """None where it is not there, or not of all the plan's items and all metrics."""
    name = folder.table_name(plan.id, scorings[0].id)
    if not folder.store.exists(name):
        return None
    with folder.store.open_source(name) as source, readable(folder.store.url(name)):
        file = ParquetReader(source)
        if file.metadata.num_rows != plan.items or not _is_whole(file, plan, scorings):
            return None
        parts = (pa.Table.from_batches([batch]) for batch in file.batches(file.schema.names, _ROWS))
        return ScoreTable.gathered(file.schema, parts, lambda: folder.store.read_table(name), where=where)


def _is_whole(file: ParquetReader, plan: Plan, scorings: Sequence[Scoring]) -> bool:
    """Whether it has all metrics, and every shard's rows are about its items."""
    try:
        known = _columns_by_name(Roles.read(file.schema, "scores"))
    except InputError:
        return False
    if "item" not in file.schema.names or not {name for one in scorings for name in one.metrics} <= set(known):
        return False
    items = (batch["item"] for batch in file.batches(["item"]))
    pairs = zip(windows(items, plan.shards), plan.rows.ids_of(plan.shards), strict=True)
    return all(pc.all(pc.is_in(there, value_set=planned)).as_py() for there, planned in pairs)


def _columns_by_name(roles: Roles) -> dict[str, str]:
    """Columns of the metrics as specifications name them."""
    return {roles.info(name).named: name for name in roles.metrics if name not in COSTS}


def _metrics(scoring: Scoring, schema: pa.Schema | None) -> list[MetricInfo]:
    """What a scoring measures, as its own tables say; one that is not there yet is asked of the registry."""
    if schema is None:
        return [metric_info(name) for name in scoring.metrics]
    roles = Roles.read(schema, "scores")
    return [roles.info(name) for name in roles.metrics if name not in COSTS]


def _joined(table: pa.Table, other: pa.Table | None, metrics: list[str]) -> pa.Table:
    """With columns of another table of the same items; null where it has none of an item, or was not scored."""
    places = None
    if other is not None:
        other = other.filter(pc.is_null(other["error"]))
        places = pc.index_in(table["item"], value_set=other["item"].combine_chunks())
    for name in metrics:
        none = pa.nulls(len(table), pa.float64())
        table = table.append_column(name, none if other is None else other[name].take(places))
    return table
