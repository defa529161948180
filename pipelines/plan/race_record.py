"""What is decided of a sweep's races, as the store keeps it: who is in, who left when and why.

It follows from the committed scores and is written for those who watch; nobody decides by it.
"""

from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import BaseModel, ConfigDict

from eval.racing import Standing
from eval.racing.elimination import Reason
from operators.plurals import counted
from pipelines.plan.planned_items import PlannedItems
from pipelines.plan.planning import Plan, read_whole_plan, stored_spec
from pipelines.plan.race_course import Due, Heat, due_rows
from pipelines.plan.sweep_spec import SweepSpec
from pipelines.storage.sweep_folder import SweepFolder, read_record

Lap = tuple[str, int]
"""A cell and a round, from 0, as `Heat.round_of` counts."""


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")


class Defeat(_Model):
    """By whom a cell was beaten in a metric, by how much and on what evidence."""

    leader: str
    difference: float
    evidence: float


class Runner(_Model):
    """A cell of a race."""

    cell: str
    end: int
    """Measurements of the race that it solves, as far as is decided."""

    confirmed_from: int | None = None
    """Place of the first measurement that confirms it, where it has won."""

    left_after: int | None = None
    """The round, from 1, after which it left."""

    reason: Reason | None = None
    beaten: dict[str, Defeat] = {}


class HeatRecord(_Model):
    """One race."""

    task: str
    arm: str | None
    rounds: int
    """Rounds that are decided."""

    of_rounds: int
    seen: int
    """Measurements in them."""

    pool: int
    measurements: int
    """Of the task; those beyond the pool are set aside."""

    over: bool
    leader: str | None
    safe: bool
    runners: list[Runner]

    @property
    def name(self) -> str:
        return self.task if self.arm is None else f"{self.task}, {self.arm}"

    @property
    def inside(self) -> list[Runner]:
        return [runner for runner in self.runners if runner.left_after is None]

    @property
    def winner(self) -> Runner | None:
        """Where the race is over."""
        return next((runner for runner in self.runners if self.over and runner.cell == self.leader), None)

    @property
    def sentence(self) -> str:
        """`sr4-32: 24 of 96 measurements seen, 12 of 49 cells still in`."""
        seen = f"{self.name}: {self.seen} of {counted(self.pool, 'measurement')} seen"
        cells = f"{len(self.inside)} of {counted(len(self.runners), 'cell')} still in"
        return f"{seen}, {'over, ' if self.over else ''}{cells}"


class RaceRecord(_Model):
    """All races of a sweep."""

    heats: list[HeatRecord] = []

    def due(self) -> dict[str, Due]:
        """How far each cell goes."""
        return {one.cell: Due(one.end, one.confirmed_from) for heat in self.heats for one in heat.runners}

    @cached_property
    def of_cell(self) -> dict[str, tuple[HeatRecord, Runner]]:
        return {runner.cell: (heat, runner) for heat in self.heats for runner in heat.runners}

    def wants(self, cell: str, number: int) -> bool:
        """Whether a cell is to solve a round, from 0, as far as is decided: rounds to come are, until it leaves.

        After the last round come what a race of fixed cost leaves over and what is set aside for the winner.
        """
        heat, runner = self.of_cell[cell]
        if runner.left_after is not None:
            return number < runner.left_after
        if not heat.over:
            return number < heat.of_rounds
        if number < heat.rounds:
            return True
        if runner.confirmed_from is None:
            return False
        return number > heat.of_rounds or runner.confirmed_from < heat.pool


def heat_record(heat: Heat, now: Standing) -> HeatRecord:
    """A race as it stands."""
    gone, ends = {one.cell: one for one in now.left}, heat.rules.ends
    seen = ends[now.rounds - 1] if now.rounds else 0
    runners = []
    for cell in heat.cells:
        departure = gone.get(cell.id)
        won = now.over and cell.id == now.leader
        beaten = {} if departure is None else departure.beaten
        runners.append(
            Runner(
                cell=cell.id,
                end=now.seen(cell.id, ends),
                confirmed_from=(seen if heat.rest else heat.pool) if won else None,
                left_after=None if departure is None else departure.round,
                reason=None if departure is None else departure.reason,
                beaten={name: Defeat(**vars(one)) for name, one in beaten.items()},
            )
        )
    return HeatRecord(
        task=heat.task, arm=heat.arm, rounds=now.rounds, of_rounds=heat.rounds, seen=seen, pool=heat.pool,
        measurements=len(heat.digests), over=now.over, leader=now.leader, safe=heat.rules.stay is None,
        runners=runners,
    )  # fmt: skip


def start_record(races: list[Heat]) -> RaceRecord:
    """Before anything is scored: every cell has the first round before it."""
    none = [Standing(0, tuple(cell.id for cell in heat.cells), (), None, False) for heat in races]
    return RaceRecord(heats=[heat_record(*pair) for pair in zip(races, none, strict=True)])


def write_race(folder: SweepFolder, plan: str, record: RaceRecord) -> None:
    folder.store.write_bytes(folder.race_name(plan), record.model_dump_json(indent=1).encode())


def read_race(folder: SweepFolder, plan: str) -> RaceRecord | None:
    """None where no round has begun."""
    name = folder.race_name(plan)
    return read_record(folder.store, name, RaceRecord) if folder.store.exists(name) else None


def read_plan(folder: SweepFolder) -> Plan:
    """The plan that a sweep's folder is about; of a race, what it asks of each cell as far as it is decided."""
    plan, summary = read_whole_plan(folder), folder.read_summary()
    if summary["specification"].get("race") is None:
        return plan
    return raced_plan(folder, plan, stored_spec(folder, summary))


def raced_plan(folder: SweepFolder, plan: Plan, spec: SweepSpec) -> Plan:
    """A race's plan without what its cells need not solve."""
    races = plan.races(spec)
    record = read_race(folder, plan.id) or start_record(races)
    return plan.only(due_rows(plan.rows.table, races, record.due()))


def solved_too_early(folder: SweepFolder, due: Plan, record: RaceRecord) -> int:
    """Work items that were solved ahead of their round, of cells that then left or whose race then ended.

    What lay solved before the race was planned is none of them; `due` is what the race asks for.
    """
    whole, asked = PlannedItems(folder, due.id), {shard.name for shard in due.shards}
    solved = SweepFolder(folder.url).solved_shards()  # listed now: some are committed after the last line about them
    others = [one.name for one in whole.shards if one.first < whole.own and one.name in solved - asked]
    settled = [one.cell for heat in record.heats for one in heat.runners if heat.over or one.left_after is not None]
    rows = whole.where(shard=others)
    return int(pc.sum(pc.is_in(rows["cell"], value_set=pa.array(settled, pa.string()))).as_py() or 0)
