"""A race as it runs: which shards are wanted next, and what their scores decide."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pipelines.plan.planning import Plan
from pipelines.plan.race_course import Heat
from pipelines.plan.race_record import Lap, read_race, write_race
from pipelines.plan.work_items import Shard
from pipelines.score.race_rows import bar_words, news, planned_labels
from pipelines.score.race_standings import Standings
from pipelines.solve.dealing import Turn
from pipelines.solve.patience import announce
from pipelines.working import Work


class RaceRun:
    """All rounds in one go, so that devices need not start again: `Dealing` gives them what is wanted, step by step.

    Whatever was solved too early decides nothing. Then comes what confirms the winners.
    """

    def __init__(self, work: Work, standings: Standings):
        self.work, self.standings = work, standings
        self.folder, self.plan, self.scoring = work.folder, work.plan, work.scorer.scoring.id
        standings.load(self.folder, self.plan, self.scoring, work.again)
        self.labels = planned_labels(self.plan.cells)
        self.record = standings.record()
        if read_race(self.folder, self.plan.id) != self.record:
            write_race(self.folder, self.plan.id, self.record)
        self.laps: Mapping[str, Lap] = dict(_laps(self.plan, standings.races))

    def stages(self) -> Iterator[list[Shard]]:
        """Shards to solve or score, stage by stage; ask for the next when those of one are committed, or no longer
        wanted."""
        while True:
            scored, solved = self.work.scored(), self.folder.solved_shards()
            waiting = (shard for shard in self.plan.shards if shard.name not in scored)
            # whoever solved it, its scores may be what a round waits for
            due = [shard for shard in waiting if shard.name in solved or self.wants(shard.name)]
            if not due:
                return
            yield due

    def scored(self, shard: str) -> bool:
        """Take in a shard that is committed, and decide what can be; whether something was."""
        name = self.folder.scores_name(self.scoring, shard)
        self.standings.take(self.folder.store.read_table(name, self.standings.columns))
        now = self.standings.record()
        if now == self.record:
            return False
        write_race(self.folder, self.plan.id, now)
        for sentence in news(self.record, now, self.labels):
            announce(sentence)
        self.record = now
        return True

    def wants(self, shard: str) -> bool:
        """Whether it is to be solved, as far as is decided."""
        return self.record.wants(*self.laps[shard])

    def words(self) -> str:
        """Who is in and who leads, for a bar."""
        return bar_words(self.record, self.labels)

    def turn(self) -> Turn:
        """Who is in, and who will be as far as can be seen."""
        return Turn(self.record, self.standings.ahead(self.record))


def _laps(plan: Plan, races: Sequence[Heat]) -> Iterator[tuple[str, Lap]]:
    """Of every shard, by its first row: those that a race has planned hold one lap, others are solved already."""
    table = plan.rows.table
    firsts = table.take([shard.first for shard in plan.shards])
    of_cell = {cell.id: heat for heat in races for cell in heat.cells}
    columns: dict[str, list[Any]] = {name: firsts[name].to_pylist() for name in ("cell", "measurement_digest")}
    for shard, cell, digest in zip(plan.shards, columns["cell"], columns["measurement_digest"], strict=True):
        heat = of_cell[cell]
        yield shard.name, (cell, heat.round_of(heat.rank[digest]))
