"""Scores that are committed for a plan's items, shard by shard or as the one table that was collected from them."""

from collections import Counter
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from operators import InputError
from pipelines.layout import SweepFolder
from pipelines.plan import Plan
from pipelines.storage import readable


def current_scores(folder: SweepFolder, plan: Plan, scoring: str) -> pa.Table:
    """The collected table, one file instead of thousands, where it is whole; else what the plan's shards hold."""
    name = folder.table_name(plan.id, scoring)
    if folder.store.exists(name):
        table = folder.store.read_table(name)
        if len(table) == plan.items and pc.all(pc.is_in(table["item"], value_set=planned_items(folder, plan))).as_py():
            return table
    return collect_scores(folder, plan, scoring)


def failed_shards(folder: SweepFolder, plan: Plan, scoring: str) -> set[str]:
    """Shards of this plan in which a row carries an error."""
    tables = score_tables(folder, plan, scoring, ["item", "error"])
    return {name for name, table in tables if table["error"].null_count < len(table)}


def collect_scores(folder: SweepFolder, plan: Plan, scoring: str) -> pa.Table:
    """The committed scores of the plan's items as one table."""
    tables = dict(score_tables(folder, plan, scoring))
    if not tables:
        raise InputError(
            f"sweep {folder.url}: nothing is scored yet; `g2d2 sweep` with the same specification goes on."
        )
    return _joined(folder, scoring, tables)


def _joined(folder: SweepFolder, scoring: str, tables: dict[str, pa.Table]) -> pa.Table:
    """One table; a shard whose columns are not those of the first is named."""
    schema = next(iter(tables.values())).schema
    for shard, table in tables.items():
        with readable(folder.store.url(folder.scores_name(scoring, shard))):
            if not table.schema.equals(schema):
                raise ValueError("its columns are not those of other shards")
    return pa.concat_tables(tables.values())


def score_tables(
    folder: SweepFolder, plan: Plan, scoring: str, columns: list[str] | None = None
) -> Iterator[tuple[str, pa.Table]]:
    """The scored shards of a plan by name, each with the plan's items alone; `columns` must hold `item`."""
    scored = folder.scored_shards(scoring)
    items = planned_items(folder, plan)
    places = {shard.name: (shard.first, shard.count) for shard in plan.shards if shard.name in scored}

    def read(shard: str) -> pa.Table:
        name = folder.scores_name(scoring, shard)
        table = folder.store.read_table(name, columns=columns)
        with readable(folder.store.url(name)):
            table.validate(full=True)
            if "item" not in table.column_names:
                raise ValueError("its columns are not those of scores")
        return table

    for shard, table in folder.read_many(places, read):
        # an earlier plan may have put more into this shard than the present one takes from it
        yield shard, table.filter(pc.is_in(table["item"], value_set=items.slice(*places[shard])))


def planned_items(folder: SweepFolder, plan: Plan) -> pa.Array:
    """Ids in the plan's order."""
    column = folder.store.read_table(folder.plan_name(plan.id), columns=["item"])["item"]
    return column.combine_chunks()


def failures(table: pa.Table) -> Counter[str]:
    """Sentences of failed rows, and how many rows each has."""
    return Counter(error for error in table["error"].to_pylist() if error is not None)
