"""Committed rows of a plan's items, shard by shard; `pipelines.score.collecting` makes one table of them."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from pipelines.plan.planning import Plan
from pipelines.plan.work_items import Shard
from pipelines.storage import readable
from pipelines.storage.sweep_folder import SweepFolder

Read = TypeVar("Read")


def failed_shards(folder: SweepFolder, plan: Plan, scoring: str) -> set[str]:
    """Shards of this plan in which a row carries an error."""
    tables = score_tables(folder, plan, scoring, ["item", "error"])
    return {name for name, table in tables if table["error"].null_count < len(table)}


def score_tables(
    folder: SweepFolder,
    plan: Plan,
    scoring: str,
    columns: list[str] | None = None,
) -> Iterator[tuple[str, pa.Table]]:
    """The scored shards of a plan by name, each with the plan's items alone; `columns` must hold `item`."""
    shards = folder.scored_shards(scoring)
    return _planned_rows(folder, plan, shards, lambda shard: read_scored(folder, scoring, shard, columns))


def solved_tables(
    folder: SweepFolder, plan: Plan, shards: set[str], columns: list[str]
) -> Iterator[tuple[str, pa.Table]]:
    """The same of these shards as they were solved."""

    def read(shard: str) -> pa.Table:
        name = folder.solved_name(shard)
        return _checked(folder, name, folder.store.read_columns(name, columns))

    return _planned_rows(folder, plan, shards & folder.solved_shards(), read)


def unscored_tables(
    folder: SweepFolder, plan: Plan, scoring: str, columns: list[str]
) -> Iterator[tuple[str, pa.Table]]:
    """The same of shards that are solved and not scored yet."""
    return solved_tables(folder, plan, folder.solved_shards() - folder.scored_shards(scoring), columns)


def read_scored(folder: SweepFolder, scoring: str, shard: str, columns: list[str] | None = None) -> pa.Table:
    """The rows of a scored shard, whichever plan they are of."""
    name = folder.scores_name(scoring, shard)
    return _checked(folder, name, folder.store.read_table(name, columns))


def planned_shards(
    folder: SweepFolder, plan: Plan, shards: set[str], read: Callable[[str], Read]
) -> Iterator[tuple[Shard, Read, pa.Array]]:
    """Those of these shards that the plan has, in its order: what `read` gives, and the ids that the plan takes of it.

    An earlier plan may have put more into a shard.
    """
    known = [shard for shard in plan.shards if shard.name in shards]
    if known:
        found = folder.read_many((shard.name for shard in known), read)
        for shard, (_, one), ids in zip(known, found, plan.rows.ids_of(known), strict=True):
            yield shard, one, ids


def of_items(table: pa.Table, ids: pa.Array) -> pa.Table:
    """The rows of these items."""
    return table.filter(pc.is_in(table["item"], value_set=ids))


def _planned_rows(
    folder: SweepFolder, plan: Plan, shards: set[str], read: Callable[[str], pa.Table]
) -> Iterator[tuple[str, pa.Table]]:
    for shard, table, ids in planned_shards(folder, plan, shards, read):
        yield shard.name, of_items(table, ids)


def _checked(folder: SweepFolder, name: str, table: pa.Table) -> pa.Table:
    with readable(folder.store.url(name)):
        table.validate(full=True)
        if "item" not in table.column_names:
            raise ValueError("its columns are not those of work items")
    return table


def failures(table: pa.Table) -> Counter[str]:
    """Sentences of failed rows, and how many rows each has."""
    return Counter(error for error in table["error"].to_pylist() if error is not None)
