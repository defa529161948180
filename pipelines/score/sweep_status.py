"""How far a sweep is, from what is committed in its store."""

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

from pipelines.plan.planning import Plan
from pipelines.plan.race_record import HeatRecord, read_plan, read_race, solved_too_early
from pipelines.plan.search_record import read_trials
from pipelines.score.committed import failures, score_tables, unscored_tables
from pipelines.score.lost_rows import held_rows, lost_rows
from pipelines.storage.sweep_folder import SweepFolder


@dataclass(frozen=True)
class Status:
    """Counts of work items."""

    name: str
    items: int
    solved: int
    scored: int
    failed: int
    errors: dict[str, int]
    """Sentences of failed rows, the most frequent first."""

    race: list[str]
    """A sentence for each race: how far it is, and how many cells are still in."""

    heats: list[dict[str, Any]]
    """The same races with all their cells: who leads, who left when, by whom it was beaten and on what evidence."""

    early: int
    """Work items that a race has solved ahead of their round and then did not ask for."""

    search: str | None
    """How far a search is, of which the rest is the batch that runs."""

    notes: list[str]
    """Which files lack rows, and what to do about it."""

    def record(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)


def read_status(folder: SweepFolder) -> Status:
    """Reads the names of committed shards, and the items and errors in them."""
    summary = folder.read_summary()
    plan = read_plan(folder)
    race = None if summary["specification"].get("race") is None else read_race(folder, plan.id)
    search = read_trials(folder, summary.get("search"))
    solved, scored = folder.solved_shards(), folder.scored_shards(summary["scoring"])
    errors: Counter[str] = Counter()
    held: dict[str, int] = {}
    for tables in (score_tables, unscored_tables):  # a row may fail in solving, or in scoring alone
        for shard, table in tables(folder, plan, summary["scoring"], ["item", "error"]):
            errors += failures(table)
            held[shard] = held_rows(table)
    heats = [] if race is None else race.heats
    lost = lost_rows(folder, plan, summary["scoring"], held)
    return Status(
        name=summary["specification"]["name"],
        items=plan.items,
        solved=sum(shard.count for shard in plan.shards if shard.name in solved) - sum(one.unsolved for one in lost),
        scored=sum(rows for shard, rows in held.items() if shard in scored),
        failed=errors.total(),
        errors=dict(errors.most_common(10)),
        race=[heat.sentence for heat in heats],
        heats=_states(heats, plan),
        early=0 if race is None else solved_too_early(folder, plan, race),
        search=None if search is None else search.sentence,
        notes=[one.sentence for one in lost],
    )


def _states(heats: list[HeatRecord], plan: Plan) -> list[dict[str, Any]]:
    if not heats:
        return []
    from pipelines.score.race_rows import planned_labels, race_state  # with the record, which only races need here

    labels = planned_labels(plan.cells)
    return [race_state(heat, labels) for heat in heats]
