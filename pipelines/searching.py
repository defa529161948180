"""A search as it runs: batches of proposals race one after the other, each on measurements of its own."""

from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np

from eval.cell_labels import setting_words
from eval.metrics import metric_info
from eval.racing.levels import levels
from operators import InputError
from pipelines.plan.chosen_metrics import chosen_metrics
from pipelines.plan.grid import Point
from pipelines.plan.proposals import Tried, next_batch
from pipelines.plan.race_record import HeatRecord, read_race
from pipelines.plan.search_course import SearchCourse, search_course
from pipelines.plan.search_record import Batch, SearchRecord, Trial, write_trials
from pipelines.plan.sweep_spec import SweepSpec
from pipelines.solve.patience import announce
from pipelines.storage.ownership import refuse_others
from pipelines.storage.sweep_folder import SweepFolder
from pipelines.sweep import SweepResult, run_sweep


def sweep_or_search(spec: SweepSpec, retry_failed: bool = False) -> SweepResult:
    """What a specification asks for."""
    return run_search(spec, retry_failed) if spec.grid.search else run_sweep(spec, retry_failed)


def run_search(spec: SweepSpec, retry_failed: bool = False) -> SweepResult:
    """All batches in turn; the result is the last one's, or that of the first one which could not be completed.

    Called again it goes through the same batches, of which nothing is solved twice.
    """
    folder = SweepFolder(spec.output)
    refuse_others(spec, folder)
    course, told = search_course(spec), Told(metric_info(_raced(spec)).name)
    result: SweepResult | None = None
    for number in range(len(course.sizes)):
        batch = next_batch(folder, course, number, told.stayed, told.tried())
        told.refuse_others(folder, course, number, batch)
        announce(
            f"search: batch {number + 1} of {len(course.sizes)}, {len(batch.proposed)} new, {len(batch.stayed)} stayed"
        )
        result = run_sweep(course.batch_spec(number, batch.points), retry_failed, course.block(number))
        race = read_race(result.folder, result.plan.id)
        if race is None or not race.heats[0].over:
            break
        told.take(batch, race.heats[0], result)
        write_trials(folder, course.id, told.record(course))
    for sentence in told.missed():
        announce(sentence)
    assert result is not None
    return result


@dataclass
class Told:
    """What batches that are over tell of their cells."""

    metric: str
    points: list[Point] = field(default_factory=list)
    """Proposals of all batches so far, in their order."""

    batches: list[int] = field(default_factory=list)
    """Of each, from 1."""

    left: list[int | None] = field(default_factory=list)
    """The batch, from 1, in which each left."""

    values: list[dict[str, float]] = field(default_factory=list)
    """Of each, its value by the measurement's digest, seeds averaged; larger is better."""

    missing_since: list[int | None] = field(default_factory=list)
    """The batch, from 1, that was proposed without it before its failed rows were solved again; None once it races."""

    stayed: list[Point] = field(default_factory=list)
    """Whom nobody beats: all of them go on in the next batch that is not proposed yet."""

    leader: Point | None = None

    def refuse_others(self, folder: SweepFolder, course: SearchCourse, number: int, batch: Batch) -> None:
        """A batch that goes on with cells which nobody proposed: a file before it was changed."""
        if any(point not in self.points for point in batch.stayed):
            raise InputError(
                f"{folder.store.url(folder.batch_name(course.id, number))}: it goes on with cells that no batch before "
                "it proposed; remove it and those after it, and run the sweep again."
            )

    def take(self, batch: Batch, heat: HeatRecord, result: SweepResult) -> None:
        """The cells of a plan are in the order of the batch's points."""
        number = max(self.batches, default=0) + 1
        self.points += batch.proposed
        self.batches += [number] * len(batch.proposed)
        self.left += [None] * len(batch.proposed)
        self.values += [{} for _ in batch.proposed]
        self.missing_since += [None] * len(batch.proposed)
        missing = [point for point in self.stayed if point not in batch.points]
        for point in missing:
            place = self.points.index(point)
            self.missing_since[place] = self.missing_since[place] or number
        sign = 1.0 if metric_info(self.metric).direction == "higher" else -1.0
        point_of = {cell.id: point for cell, point in zip(result.plan.cells, batch.points, strict=True)}
        scored = set(result.scores.cells())
        for runner in heat.runners:
            place = self.points.index(point_of[runner.cell])
            self.left[place] = None if runner.left_after is None else number
            self.missing_since[place] = None
            if runner.cell in scored:
                self.values[place] |= _by_measurement(result, runner.cell, self.metric, sign)
        self.stayed = [*missing, *(point_of[runner.cell] for runner in heat.inside)]
        self.leader = None if heat.leader is None else point_of[heat.leader]

    def levels(self) -> list[float | None]:
        """Of every proposal on one scale, larger is better; None where nothing was scored."""
        digests = sorted({digest for values in self.values for digest in values})
        merits = np.array([[values.get(digest, np.nan) for digest in digests] for values in self.values])
        if not merits.size:
            return [None] * len(self.points)
        return [float(f"{level:.9g}") if np.isfinite(level) else None for level in levels(merits)]

    def missed(self) -> list[str]:
        """A sentence for every cell that nobody beats and that later batches were proposed without."""
        return [
            f"search: {', '.join(setting_words(*one) for one in point.items())} is unbeaten now that failed rows were "
            f"solved again, but batch {batch} had been proposed without it, and it has not raced since"
            for point, batch in zip(self.points, self.missing_since, strict=True)
            if batch is not None
        ]

    def tried(self) -> list[Tried]:
        return list(zip(self.points, self.levels(), strict=True))

    def record(self, course: SearchCourse) -> SearchRecord:
        known = self.levels()
        best = None if self.leader is None else known[self.points.index(self.leader)]
        trials = [
            Trial(
                settings=point,
                batch=batch,
                seen=len(values),
                behind=None if level is None or best is None else round(best - level, 9),
                left=left,
                missing_since=missing,
            )
            for point, batch, values, level, left, missing in zip(
                self.points, self.batches, self.values, known, self.left, self.missing_since, strict=True
            )
        ]
        return SearchRecord(
            batches=max(self.batches, default=0), of_batches=len(course.sizes), of_trials=sum(course.sizes),
            metric=self.metric, leader=self.leader, trials=trials,
        )  # fmt: skip


def _raced(spec: SweepSpec) -> str:
    """The metric that decides who wins, as the specification names it."""
    assert spec.race is not None
    return spec.race.raced(chosen_metrics(spec))[0]


def _by_measurement(result: SweepResult, cell: str, metric: str, sign: float) -> dict[str, float]:
    column, values = result.scores.values(cell, metric), defaultdict[str, list[float]](list)
    for digest, value in zip(column.digests[column.finite].tolist(), column.values[column.finite], strict=True):
        values[digest].append(sign * float(value))
    return {digest: float(np.mean(some)) for digest, some in values.items()}
