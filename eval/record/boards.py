"""Several sweeps as one record: the arms of all that saw the same measurements, each called after its sweep.

Merged scores go the way of any sweep's, so that means, ties, contrasts and Holm's correction are the same ones.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from eval.metrics.info import COSTS
from eval.record.confirming import confirmed_on
from eval.record.race_words import Confirmation, RaceWords
from eval.record.sweep_record import SweepRecord
from eval.score_columns import Roles
from eval.scores import ScoreTable
from operators import InputError

SHARED = 0.5
"""Sweeps are compared where they share at least this part of the measurements of each: a trial of ten images would
else leave ten of everybody's thousand."""

Key = tuple[str, int]
"""Digest of a measurement, and a seed."""


@dataclass(frozen=True)
class Entrant:
    """A sweep that is put beside others."""

    name: str
    record: SweepRecord
    measured: pa.Table | None = None
    """Scores of the measurements themselves."""

    def shown_arm(self, arm: str) -> str:
        """The arm among those of other sweeps."""
        return f"{self.name}/{arm}" if len(self.record.arms) > 1 and arm else self.name

    @property
    def baseline(self) -> str:
        """The arm that its others are held against."""
        sides = self.record.sides
        return sides.baseline if sides is not None and sides.setting is None else self.record.arms[0]


@dataclass(frozen=True)
class Board:
    """What can be compared: some sweeps, by the measurements that all of them saw."""

    entrants: tuple[Entrant, ...]
    record: SweepRecord
    common: dict[str, int]
    """By task, how many measurements all of them saw."""

    seen: dict[str, dict[str, int]]
    """By task and sweep, how many it saw itself."""


def boards(entrants: Sequence[Entrant], baseline: str | None = None) -> list[Board]:
    """Those of several sweeps first; a sweep, or a task of it, that shares too little with the others has its own.

    `baseline` is an arm as a board shows it, or a sweep, whose own baseline it then is; by default the first sweep's.
    """
    seen = [_seen(one.record) for one in entrants]
    together: dict[tuple[int, ...], dict[str, set[Key]]] = {}
    for task in dict.fromkeys(task for one in seen for task in one):
        for members, common in _groups(entrants, [one.get(task) for one in seen]):
            together.setdefault(tuple(members), {})[task] = common
    made = [
        _board([entrants[i] for i in members], [seen[i] for i in members], tasks, baseline)
        for members, tasks in sorted(together.items(), key=lambda one: -len(one[0]))
    ]
    known = list(dict.fromkeys(name for board in made for one in board.entrants for name in _names(one)))
    if baseline is not None and made and baseline not in known:
        raise InputError(f"--baseline: {baseline!r} is no sweep or arm here; there are {', '.join(known)}.")
    return made


def _names(one: Entrant) -> list[str]:
    return [one.name, *(one.shown_arm(arm) for arm in one.record.arms)]


def _seen(record: SweepRecord) -> dict[str, set[Key]]:
    seen: dict[str, set[Key]] = {}
    for cell in record.cells:
        column = record.values(cell, record.scores.metrics[0])
        named = zip(column.measurements, column.digests, strict=True)
        names = [name if digest is None else digest for name, digest in named]
        seen.setdefault(cell.task, set()).update(zip(names, column.seeds.tolist(), strict=True))
    return seen


def _groups(entrants: Sequence[Entrant], seen: Sequence[set[Key] | None]) -> list[tuple[list[int], set[Key]]]:
    """Places of sweeps that share enough of a task, with what all of a group share; scored in one way alone."""
    groups: list[tuple[list[int], set[Key]]] = []
    for place, mine in enumerate(seen):
        if mine is None:
            continue
        scoring = entrants[place].record.scores.roles.scoring
        for at, (members, common) in enumerate(groups):
            enough = len(common & mine) >= SHARED * max(len(common), len(mine))
            if enough and entrants[members[0]].record.scores.roles.scoring == scoring:
                groups[at] = [*members, place], common & mine
                break
        else:
            groups.append(([place], mine))
    return groups


def _board(
    entrants: Sequence[Entrant], seen: Sequence[dict[str, set[Key]]], tasks: dict[str, set[Key]], baseline: str | None
) -> Board:
    common = {task: _measurements(keys) for task, keys in tasks.items()}
    counts = {
        task: {one.name: _measurements(own[task]) for one, own in zip(entrants, seen, strict=True)} for task in tasks
    }
    first = entrants[0]
    whole = len(entrants) == 1 and set(tasks) == set(first.record.tasks)
    record = first.record if whole else _record(entrants, tasks, baseline)
    return Board(tuple(entrants), record, common, counts)


def _measurements(keys: set[Key]) -> int:
    return len({digest for digest, _ in keys})


def _record(entrants: Sequence[Entrant], tasks: dict[str, set[Key]], baseline: str | None) -> SweepRecord:
    alone = len(entrants) == 1
    names: dict[str, str] = {}
    tables = [_renamed(one, tasks, names, alone) for one in entrants]
    roles = [one.record.scores.roles for one in entrants]
    metrics = list(dict.fromkeys(name for one in roles for name in one.metrics))
    merged = Roles(
        metrics=(*(name for name in metrics if name not in COSTS), *(name for name in metrics if name in COSTS)),
        parameters=tuple(dict.fromkeys(["arm", *(name for one in roles for name in one.parameters)])),
        free=tuple(dict.fromkeys(name for one in roles for name in one.free)),
        scoring=roles[0].scoring,
        infos={name: info for one in reversed(roles) for name, info in one.infos.items()},
    )
    table = pa.concat_tables(_alike(tables), promote_options="permissive")
    where = ", ".join(one.name for one in entrants)
    scores = ScoreTable(table.replace_schema_metadata(merged.metadata()), where=where)
    return SweepRecord(
        scores,
        compare=_compared(entrants, baseline, alone),
        arms=[arm if alone else one.shown_arm(arm) for one in entrants for arm in one.record.arms],
        measured=next((_measured(one.measured, names) for one in entrants if one.measured is not None), None),
        race=_races(entrants, scores, alone),
    )


def _races(entrants: Sequence[Entrant], scores: ScoreTable, alone: bool) -> RaceWords | None:
    """Which cells left, and what winners are worth on those of the common measurements that confirm them."""
    races = [(one.name, one.record.race) for one in entrants if one.record.race is not None]
    if not races:
        return None
    called = [("" if alone else f"{name}/", race) for name, race in races]
    return RaceWords(
        marks={f"{before}{cell}": mark for before, race in called for cell, mark in race.marks.items()},
        unranked=frozenset(f"{before}{cell}" for before, race in called for cell in race.unranked),
        confirmations=[*_confirmations(races, scores, alone)],
        metric=races[0][1].metric,
    )


def _confirmations(races: Sequence[tuple[str, RaceWords]], scores: ScoreTable, alone: bool) -> Iterator[Confirmation]:
    cells = set(scores.cells())
    for name, race in races:
        for one in race.confirmations:
            cell = one.cell if alone else f"{name}/{one.cell}"
            if cell in cells:
                here = set(scores.values(cell, scores.metrics[0]).digests.tolist())
                yield confirmed_on(scores, one.race if alone else f"{name}, {one.race}", cell, one.digests & here)


def _compared(entrants: Sequence[Entrant], baseline: str | None, alone: bool) -> str | None:
    if alone:
        return entrants[0].record.compare
    for one in entrants:
        if baseline == one.name:
            return one.shown_arm(one.baseline)
        if baseline in _names(one):
            return baseline
    return entrants[0].shown_arm(entrants[0].baseline)


def _renamed(one: Entrant, tasks: Mapping[str, set[Key]], names: dict[str, str], alone: bool) -> pa.Table:
    """Rows of the common measurements; these are called as in the first sweep, since pairs are made by name."""
    record, table = one.record, one.record.scores.table.replace_schema_metadata(None)
    digests = [
        name if digest is None else digest
        for name, digest in zip(table["measurement"].to_pylist(), _column(table, "measurement_digest"), strict=True)
    ]
    cells = table["cell"].to_pylist()
    kept = [
        (digest, seed) in tasks.get(record.cell(cell).task, ())
        for digest, seed, cell in zip(digests, table["seed"].to_pylist(), cells, strict=True)
    ]
    for digest, name, keep in zip(digests, table["measurement"].to_pylist(), kept, strict=True):
        if keep:
            names.setdefault(digest, name)
    columns = {"measurement": [names.get(digest, digest) for digest in digests]}
    if not alone:
        columns["arm"] = [one.shown_arm(record.cell(cell).arm) for cell in cells]
        columns["cell"] = [f"{one.name}/{cell}" for cell in cells]
    for name, values in columns.items():
        array = pa.array(values, pa.string())
        place = table.schema.get_field_index(name)
        table = table.append_column(name, array) if place < 0 else table.set_column(place, name, array)
    return table.filter(pa.array(np.array(kept, dtype=bool)))


def _column(table: pa.Table, name: str) -> list[str | None]:
    return table[name].to_pylist() if name in table.column_names else [None] * len(table)


def _alike(tables: Sequence[pa.Table]) -> list[pa.Table]:
    """A setting that is a number in one sweep and a word in another is a word in all."""
    kinds: dict[str, set[pa.DataType]] = {}
    for table in tables:
        for field in table.schema:
            kinds.setdefault(field.name, set()).add(field.type)
    mixed = {name for name, types in kinds.items() if len(types) > 1 and not all(map(_numeric, types))}
    return [
        table.cast(pa.schema([pa.field(f.name, pa.string()) if f.name in mixed else f for f in table.schema]))
        for table in tables
    ]


def _numeric(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_null(kind))


def _measured(measured: pa.Table, names: Mapping[str, str]) -> pa.Table:
    """Scores of the common measurements themselves, by the names they have here."""
    called = [names.get(digest) for digest in measured["digest"].to_pylist()]
    place = measured.schema.get_field_index("measurement")
    table = measured.set_column(place, "measurement", pa.array(called, pa.string()))
    return table.filter(table["measurement"].is_valid())
