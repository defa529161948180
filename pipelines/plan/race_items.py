"""Work items of a race: round by round, each shard of one cell and one round, so that a cell can stop between them."""

from collections.abc import Iterator, Sequence
from itertools import groupby

import pyarrow as pa

from pipelines.plan.cells import Cell
from pipelines.plan.race_course import Heat
from pipelines.plan.work_items import Group, Held, Rows, WorkItems, by_shard


class RaceItems(WorkItems):
    """The whole grid in the order in which a race would solve it."""

    def __init__(
        self, cells: list[Cell], places: pa.Table, seeds: Sequence[int], held: Held, shard: int, races: Sequence[Heat]
    ):
        super().__init__(cells, places, seeds, held, shard)
        self.races = races

    def _parts(self) -> Iterator[tuple[Rows, list[int]]]:
        aside: list[Rows] = []
        for cell, places in self._segments():
            rows = self._rows([(place, Group([cell], self.seeds)) for place in places])
            fresh = rows.held < 0
            aside += [rows.take(~fresh)] if not fresh.all() else []
            rows = rows.take(fresh)
            if len(rows):
                yield rows, list(range(0, len(rows), self.shard))
        if aside:
            yield from by_shard(Rows.joined(aside))

    def _segments(self) -> Iterator[tuple[Cell, list[int]]]:
        """A cell with measurements of one round and one kind; what is set aside comes last."""
        kinds, digests = self.places["kind"].to_pylist(), self.places["digest"].to_pylist()
        place = {digest: index for index, digest in enumerate(digests)}
        last = max(heat.rounds for heat in self.races)
        for number in range(last + 2):
            running = [race for race in self.races if number < race.rounds or number >= last]
            for cell, heat in _turned([(cell, race) for race in running for cell in race.cells], number):
                ranks = heat.ranks(number if number < last else heat.rounds + number - last)
                places = sorted((place[heat.digests[rank]] for rank in ranks), key=kinds.__getitem__)
                for _, of_kind in groupby(places, key=kinds.__getitem__):
                    yield cell, list(of_kind)


def largest_batch(races: Sequence[Heat], seeds: int) -> int:
    """Rows that a race can solve together: a cell's largest round with all seeds."""
    return seeds * max(len(heat.ranks(number)) for heat in races for number in range(heat.rounds))


def _turned(pairs: list[tuple[Cell, Heat]], number: int) -> list[tuple[Cell, Heat]]:
    """By what can share a batch, every other round backwards: a prior is changed once a round and not twice."""
    ordered = sorted(pairs, key=lambda pair: repr(pair[0].batch_key()))
    return ordered[::-1] if number % 2 else ordered
