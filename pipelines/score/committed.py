"""Scores that are committed for a plan's items: all metrics, shard by shard or as the one table made from them."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from eval.metrics import COSTS, MetricInfo, metric_info
from eval.score_columns import Roles, filled, united, with_metrics
from operators import InputError
from operators.plurals import counted
from pipelines.plan.planning import Plan
from pipelines.score.scorings import Scoring
from pipelines.storage import readable
from pipelines.storage.sweep_folder import SweepFolder


def current_scores(folder: SweepFolder, plan: Plan, scorings: Sequence[Scoring]) -> pa.Table:
    """The collected table, one file instead of thousands, where it is whole; else what the plan's shards hold."""
    name = folder.table_name(plan.id, scorings[0].id)
    if folder.store.exists(name):
        table = folder.store.read_table(name)
        wanted = {name for one in scorings for name in one.metrics}
        whole = len(table) == plan.items and wanted <= set(_columns_by_name(table))
        if whole and _about(table, plan.rows.ids):
            return table
    return collect_scores(folder, plan, scorings)


def collect_scores(folder: SweepFolder, plan: Plan, scorings: Sequence[Scoring]) -> pa.Table:
    """The committed scores of the plan's items as one table, joined by item over all scorings, the first one's first.

    A setting that a row's method does not have is null, and so is a metric that another scoring has not computed.
    """
    own, *added = scorings
    tables = dict(score_tables(folder, plan, own.id))
    if not tables:
        raise InputError(
            f"sweep {folder.url}: nothing is scored yet; `g2d2 sweep` with the same specification goes on."
        )
    table = _one_table(folder, own.id, tables)
    for scoring in added:
        parts = dict(score_tables(folder, plan, scoring.id))
        other = _one_table(folder, scoring.id, parts) if parts else None
        infos = [info for info in _metrics(scoring, other) if info.name not in table.column_names]
        columns = _aligned(table, other, [info.name for info in infos])
        table = with_metrics(table, columns, {info.name: info for info in infos})
    return table


def _metrics(scoring: Scoring, table: pa.Table | None) -> list[MetricInfo]:
    """What a scoring measures, as its own table says; one that is not there yet is asked of the registry."""
    if table is None:
        return [metric_info(name) for name in scoring.metrics]
    roles = Roles.read(table.schema, "scores")
    return [roles.info(name) for name in roles.metrics if name not in COSTS]


def _columns_by_name(table: pa.Table) -> dict[str, str]:
    """Columns of the metrics as specifications name them; none of a table that does not say."""
    try:
        roles = Roles.read(table.schema, "scores")
    except InputError:
        return {}
    return {roles.info(name).named: name for name in roles.metrics if name not in COSTS}


def _aligned(table: pa.Table, other: pa.Table | None, metrics: list[str]) -> dict[str, pa.ChunkedArray]:
    """Columns of another table in the order of this one's items; null where an item has none or was not scored."""
    if other is None:
        return {name: pa.chunked_array([pa.nulls(len(table), pa.float64())]) for name in metrics}
    other = other.filter(pc.is_null(other["error"]))
    places = pc.index_in(table["item"], value_set=other["item"].combine_chunks())
    return {name: other[name].take(places) for name in metrics}


def unscored_notes(table: pa.Table, url: str, scorings: Sequence[Scoring]) -> list[str]:
    """A sentence for each metric that lacks images which others have, with what to do about it."""
    sentences, solved = [], table.filter(pc.is_null(table["error"]))
    columns = _columns_by_name(table)
    for name in (name for scoring in scorings[1:] for name in scoring.metrics):
        missing = solved[columns[name]].null_count if name in columns else 0
        if missing:
            sentences.append(
                f"{columns[name]} is scored for {len(solved) - missing} of {counted(len(solved), 'image')}: "
                f"`g2d2 score {url} --metrics {name}` goes on"
            )
    return sentences


def _about(table: pa.Table, items: pa.Array) -> bool:
    """Whether all its rows are about these items."""
    return "item" in table.column_names and bool(pc.all(pc.is_in(table["item"], value_set=items)).as_py())


def failed_shards(folder: SweepFolder, plan: Plan, scoring: str) -> set[str]:
    """Shards of this plan in which a row carries an error."""
    tables = score_tables(folder, plan, scoring, ["item", "error"])
    return {name for name, table in tables if table["error"].null_count < len(table)}


def _one_table(folder: SweepFolder, scoring: str, tables: dict[str, pa.Table]) -> pa.Table:
    """One table with the settings of all methods; a shard that cannot be of this scoring is named."""
    schema = next(iter(tables.values())).schema
    for shard, table in tables.items():
        with readable(folder.store.url(folder.scores_name(scoring, shard))):
            try:
                schema = united(schema, table.schema)
            except InputError as error:  # about the table's metadata, which does not know its file
                raise ValueError(str(error).removeprefix("scores: ").rstrip(".")) from None
    return pa.concat_tables(filled(table, schema) for table in tables.values())


def score_tables(
    folder: SweepFolder,
    plan: Plan,
    scoring: str,
    columns: list[str] | None = None,
) -> Iterator[tuple[str, pa.Table]]:
    """The scored shards of a plan by name, each with the plan's items alone; `columns` must hold `item`."""
    places = _places(plan, folder.scored_shards(scoring))
    names = {shard: folder.scores_name(scoring, shard) for shard in places}
    return _planned_rows(folder, plan, places, names, lambda name: folder.store.read_table(name, columns))


def solved_tables(
    folder: SweepFolder, plan: Plan, shards: set[str], columns: list[str]
) -> Iterator[tuple[str, pa.Table]]:
    """The same of these shards as they were solved."""
    places = _places(plan, shards & folder.solved_shards())
    names = {shard: folder.solved_name(shard) for shard in places}
    return _planned_rows(folder, plan, places, names, lambda name: folder.store.read_columns(name, columns))


def unscored_tables(
    folder: SweepFolder, plan: Plan, scoring: str, columns: list[str]
) -> Iterator[tuple[str, pa.Table]]:
    """The same of shards that are solved and not scored yet."""
    return solved_tables(folder, plan, folder.solved_shards() - folder.scored_shards(scoring), columns)


def _places(plan: Plan, shards: set[str]) -> dict[str, tuple[int, int]]:
    """First row and number of rows of those of these shards that the plan has."""
    return {shard.name: (shard.first, shard.count) for shard in plan.shards if shard.name in shards}


def _planned_rows(
    folder: SweepFolder,
    plan: Plan,
    places: dict[str, tuple[int, int]],
    names: dict[str, str],
    read_table: Callable[[str], pa.Table],
) -> Iterator[tuple[str, pa.Table]]:
    if not places:
        return
    items = plan.rows.ids

    def read(shard: str) -> pa.Table:
        table = read_table(names[shard])
        with readable(folder.store.url(names[shard])):
            table.validate(full=True)
            if "item" not in table.column_names:
                raise ValueError("its columns are not those of work items")
        return table

    for shard, table in folder.read_many(places, read):
        # an earlier plan may have put more into this shard than the present one takes from it
        yield shard, table.filter(pc.is_in(table["item"], value_set=items.slice(*places[shard])))


def failures(table: pa.Table) -> Counter[str]:
    """Sentences of failed rows, and how many rows each has."""
    return Counter(error for error in table["error"].to_pylist() if error is not None)
