"""Which shard of a race a device is given next: those of the round in progress, then a few of the rounds after it."""

import asyncio
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from pipelines.plan.race_record import Lap, RaceRecord
from pipelines.plan.work_items import Shard


@dataclass(frozen=True)
class Turn:
    """What is known of the races when a shard is to be given."""

    record: RaceRecord
    ahead: Mapping[str, int]
    """Cells that will still be in after the round in progress, as far as can be seen, with their order; no others
    are solved ahead of it."""


class Watcher(Protocol):
    """Decides while work goes on which of it is wanted, and what comes first."""

    laps: Mapping[str, Lap]
    """Of every shard."""

    def scored(self, shard: str) -> bool:
        """A shard is committed; whether that changes what is wanted."""

    def wants(self, shard: str) -> bool:
        """Whether it is still to be solved."""

    def words(self) -> str:
        """How things are, beside a progress bar."""

    def turn(self) -> Turn:
        """The same, for whoever gives out shards."""


class Dealing:
    """Shards by cell in the order of its rounds; a ticket that asks twice, since a worker died, has the same again.

    Few wait at the devices and few are ahead of their rounds: what is given late is given by what is known late.
    """

    def __init__(self, shards: Sequence[Shard], laps: Mapping[str, Lap], devices: int, turn: Turn):
        self.shards = {shard.name: shard for shard in shards}
        self.place = {shard.name: place for place, shard in enumerate(shards)}
        self.laps, self.least, self.turn = laps, devices, turn
        self.waiting: dict[str, deque[str]] = {}
        for shard in shards:
            self.waiting.setdefault(laps[shard.name][0], deque()).append(shard.name)
        self.given: dict[int, str] = {}
        self.begun: set[str] = set()
        self.early: set[str] = set()
        """Those given that are ahead of the round in progress, solved or not."""
        self.known: set[str] = set()
        """Devices that have begun something."""

    @property
    def most(self) -> int:
        """One for each device and one to spare, of those that wait and of those that are ahead."""
        return max(self.least, len(self.known)) + 1

    def update(self, turn: Turn) -> None:
        """More is known."""
        self.turn = turn
        self.early = {shard for shard in self.early if self._wanted(shard) and self._ahead(shard)}

    def take(self, ticket: int) -> Shard | None:
        """None as long as there is nothing to give."""
        if ticket not in self.given:
            if len(self.given) - len(self.begun) >= self.most:
                return None
            name = self._next()
            if name is None:
                return None
            self.waiting[self.laps[name][0]].popleft()
            self.given[ticket] = name
            self.early |= {name} if self._ahead(name) else set()
        return self.shards[self.given[ticket]]

    def begin(self, shard: str, device: str) -> bool:
        """A device has come to a shard; whether it is still to be solved."""
        self.begun.add(shard)
        self.known.add(device)
        return self._wanted(shard)

    def _next(self) -> str | None:
        heads = [queue[0] for queue in self.waiting.values() if self._skip_unwanted(queue)]
        due = [shard for shard in heads if not self._ahead(shard)]
        if due:
            return min(due, key=self.place.__getitem__)
        if len(self.early) >= self.most:
            return None
        able = [shard for shard in heads if self.laps[shard][0] in self.turn.ahead]
        return min(able, key=lambda shard: (self._ahead(shard), self.turn.ahead[self.laps[shard][0]]), default=None)

    def _skip_unwanted(self, queue: deque[str]) -> bool:
        """Whether anything is left."""
        while queue and not self._wanted(queue[0]):
            queue.popleft()
        return bool(queue)

    def _wanted(self, shard: str) -> bool:
        return self.turn.record.wants(*self.laps[shard])

    def _ahead(self, shard: str) -> int:
        """Rounds between the one in progress and its own."""
        cell, number = self.laps[shard]
        heat, _ = self.turn.record.of_cell[cell]
        return 0 if heat.over else max(0, number - heat.rounds)


class Dealer:
    """The same for tasks on any machine, which wait until there is something for them."""

    def __init__(self, dealing: Dealing):
        self.dealing, self.news = dealing, asyncio.Event()

    async def update(self, turn: Turn) -> None:
        """More is known."""
        self.dealing.update(turn)
        self._tell()

    async def take(self, ticket: int) -> Shard:
        """The shard of a ticket."""
        while (shard := self.dealing.take(ticket)) is None:
            await self.news.wait()
        return shard

    async def begin(self, shard: str, device: str) -> bool:
        """Whether it is still to be solved."""
        wanted = self.dealing.begin(shard, device)
        self._tell()
        return wanted

    def _tell(self) -> None:
        """Wake those who wait now, and let those wait who come later."""
        self.news.set()
        self.news = asyncio.Event()
