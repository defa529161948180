"""The course of a race: who runs against whom, in which order they meet measurements, and in which rounds."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from eval.racing import RaceRules, halving_rounds
from operators import InputError
from pipelines.plan.cells import Cell
from pipelines.plan.chosen_metrics import chosen_metrics
from pipelines.plan.race_spec import Race
from pipelines.plan.sweep_spec import SweepSpec


@dataclass(frozen=True)
class Heat:
    """Cells that race against each other on the measurements of their task."""

    task: str
    arm: str | None
    """Where each arm races by itself."""

    cells: tuple[Cell, ...]
    digests: tuple[str, ...]
    """Of the task's measurements in the order of the race."""

    pool: int
    """How many of them may be raced on; the others are set aside for the winner."""

    rules: RaceRules
    rest: bool
    """Whether the winner also gets what the race did not use."""

    @property
    def name(self) -> str:
        return self.task if self.arm is None else f"{self.task}, {self.arm}"

    @property
    def rounds(self) -> int:
        return len(self.rules.ends)

    def round_of(self, rank: int) -> int:
        """From 0; after the rounds comes what a race of fixed cost leaves over, then what is set aside."""
        return bisect_right((*self.rules.ends, self.pool), rank)

    def ranks(self, number: int) -> range:
        """The places of a round's measurements, or of what comes after the rounds."""
        ends = (0, *self.rules.ends, self.pool, len(self.digests))
        return range(ends[number], ends[number + 1])

    @cached_property
    def rank(self) -> dict[str, int]:
        return {digest: place for place, digest in enumerate(self.digests)}

    def cost(self, seeds: int) -> tuple[int, int]:
        """Fewest and most work items: where all others leave at once, and where none does before the end."""
        racing, stay, ends = len(self.cells), self.rules.stay, self.rules.ends
        counts = [racing] * len(ends) if stay is None else [racing, *stay[:-1]]
        high = int(np.dot(counts, np.diff(ends, prepend=0))) + self.confirming(ends[-1])
        low = racing * ends[0] + self.confirming(ends[0]) if stay is None else high
        return seeds * low, seeds * high

    def confirming(self, seen: int) -> int:
        """Measurements that confirm the winner of a race that has seen so many."""
        return len(self.digests) - (seen if self.rest else self.pool)


@dataclass(frozen=True)
class Due:
    """Measurements that a cell is to solve: the first of the race, and from a place on what confirms it."""

    end: int
    confirmed_from: int | None = None


def draw_order(digests: Iterable[str], seed: int) -> tuple[str, ...]:
    """One random order of measurements, whatever order they come in."""
    return tuple(sorted(set(digests), key=lambda digest: blake2b(f"{seed}/{digest}".encode(), digest_size=16).digest()))


def heats(spec: SweepSpec, cells: Sequence[Cell], digests: Mapping[str, Sequence[str]]) -> list[Heat]:
    """All races of a specification; `digests` are those of each task's measurements."""
    race = spec.race
    assert race is not None
    groups: dict[tuple[str, str | None], list[Cell]] = {}
    for cell in cells:
        groups.setdefault((cell.task, cell.arm if race.among == "arm" else None), []).append(cell)
    metrics = chosen_metrics(spec)
    orders = {task: draw_order(of_task, race.seed) for task, of_task in digests.items()}
    return [_heat(race, metrics, task, arm, racing, orders[task]) for (task, arm), racing in groups.items()]


def _heat(
    race: Race, metrics: Sequence[str], task: str, arm: str | None, cells: Sequence[Cell], order: tuple[str, ...]
) -> Heat:
    pool = len(order) - race.set_aside(len(order))
    if pool < 1:
        raise InputError(
            f"race.confirm: {race.confirm} measurements are set aside of the {len(order)} of {task}, which leaves "
            "none to race on; set confirm lower, or take more measurements."
        )
    return Heat(task, arm, tuple(cells), order, pool, _rules(race, metrics, len(cells), pool), race.confirm == "rest")


def _rules(race: Race, metrics: Sequence[str], cells: int, pool: int) -> RaceRules:
    ends: Sequence[int] = (*range(race.round, pool, race.round), pool)
    stay = None
    if race.budget is not None and cells > 1:
        ends, stay = halving_rounds(cells, pool, race.budget)
    return RaceRules(race.margins(metrics), ends, race.alpha, stay)


def planned_heats(spec: SweepSpec, cells: Sequence[Cell], table: pa.Table) -> list[Heat]:
    """The races of a written plan, from its rows."""
    codes, digests = _codes(table, "measurement_digest")
    owner = table["cell_index"].to_numpy()
    firsts = np.unique(codes, return_index=True)[1]
    by_task: dict[str, list[str]] = {}
    for code, row in zip(codes[firsts].tolist(), firsts.tolist(), strict=True):
        by_task.setdefault(cells[owner[row]].task, []).append(digests[code])
    return heats(spec, cells, by_task)


def due_rows(table: pa.Table, races: Sequence[Heat], due: Mapping[str, Due]) -> NDArray[np.bool_]:
    """Which rows of a plan are to be solved, where `due` says of each cell how far it goes."""
    codes, digests = _codes(table, "measurement_digest")
    place = {digest: rank for heat in races for digest, rank in heat.rank.items()}
    ranks = np.array([place[digest] for digest in digests])[codes]
    owner = table["cell_index"].to_numpy()
    size = max((cell.index for heat in races for cell in heat.cells), default=-1) + 1
    ends, aside = np.zeros(size, dtype=np.int64), np.full(size, np.iinfo(np.int64).max)
    for heat in races:
        for cell in heat.cells:
            one = due[cell.id]
            ends[cell.index] = one.end
            if one.confirmed_from is not None:
                aside[cell.index] = one.confirmed_from
    wanted: NDArray[np.bool_] = (ranks < ends[owner]) | (ranks >= aside[owner])
    return wanted


def _codes(table: pa.Table, name: str) -> tuple[NDArray[np.int64], list[str]]:
    """A column as places in the list of its values."""
    column = table[name].combine_chunks()
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    return encoded.indices.to_numpy(), encoded.dictionary.to_pylist()
