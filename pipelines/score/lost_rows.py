"""Rows that a committed file lacks: since the file is there, no run would solve or score them again."""

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from pipelines.plan.planning import Plan
from pipelines.score.committed import score_tables, solved_tables, unscored_tables
from pipelines.storage.sweep_folder import SweepFolder


@dataclass(frozen=True)
class LostRows:
    """A shard of which rows are gone that the plan expects of it."""

    url: str
    """The file that lacks them; what was solved, where they are gone from there too."""

    held: int
    expected: int
    unsolved: int
    """How many are gone from what was solved."""

    @property
    def sentence(self) -> str:
        return f"{self.url} holds {self.held} of its {self.expected} rows; remove it and run the sweep again"


def held_rows(table: pa.Table) -> int:
    """Work items in a table of the plan's."""
    rows: int = pc.count_distinct(table["item"]).as_py()
    return rows


def lost_rows(
    folder: SweepFolder,
    plan: Plan,
    scoring: str,
    held: Mapping[str, int] | None = None,
) -> list[LostRows]:
    """What is lost, in the plan's order; `held` are the rows of each shard as it is scored, or else solved."""
    if held is None:
        tables = [tables(folder, plan, scoring, ["item"]) for tables in (score_tables, unscored_tables)]
        held = {shard: held_rows(table) for part in tables for shard, table in part}
    short = [shard for shard in plan.shards if held.get(shard.name, shard.count) < shard.count]
    if not short:
        return []
    solved = solved_tables(folder, plan, {shard.name for shard in short}, ["item"])
    rows = {shard: held_rows(table) for shard, table in solved}
    lost = []
    for shard in short:
        if shard.name in rows:  # else the next run solves it
            unsolved = shard.count - rows[shard.name]
            name = folder.solved_name(shard.name) if unsolved else folder.scores_name(scoring, shard.name)
            there = rows[shard.name] if unsolved else held[shard.name]
            lost.append(LostRows(folder.store.url(name), there, shard.count, unsolved))
    return lost
