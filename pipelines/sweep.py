"""A sweep from specification to checked, scored results: plan, solve, score, count, track."""

import time
import uuid
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from eval.scores import ScoreTable
from g2d2.version import SOLVER_VERSION, __version__
from pipelines.attempts import forget
from pipelines.committed import collect_scores, failed_shards, planned_items
from pipelines.devices import connect, devices_now, place
from pipelines.features import cell_distances
from pipelines.layout import SweepFolder
from pipelines.patience import patience, tell
from pipelines.plan import Plan, make_plan, read_plan
from pipelines.progress import progress
from pipelines.readiness import check_scoring, check_work
from pipelines.references import collected_references, judged, score_measurements
from pipelines.scoring import COSTS, ShardScorer, scoring_id
from pipelines.spec import SweepSpec
from pipelines.tracking.environment import environment
from pipelines.work_items import Shard


@dataclass(frozen=True)
class Counts:
    """How complete a sweep is, in work items and shards."""

    expected: int
    committed: int
    failed: int
    duplicates: int
    shards: int
    solved_shards: int
    scored_shards: int

    @property
    def complete(self) -> bool:
        """Every expected id is committed and scored exactly once."""
        return self.expected == self.committed and not self.duplicates


@dataclass(frozen=True)
class SweepResult:
    """What a sweep ends with."""

    folder: SweepFolder
    plan: Plan
    counts: Counts
    scores: ScoreTable
    scores_url: str
    distances: pa.Table | None = None
    """Distances of every cell, where the specification asks for some."""

    references: pa.Table | None = None
    """Scores of the measurements themselves."""


def run_sweep(spec: SweepSpec, retry_failed: bool = False) -> SweepResult:
    """Solve and score what is not committed yet, then count everything. Call again to go on after any interruption."""
    folder = SweepFolder(spec.output)
    plan = make_plan(spec, folder, retry_failed)
    scoring = scoring_id(spec.metrics, spec.distribution)
    solved, scored = folder.solved_shards(), folder.scored_shards(scoring)
    if retry_failed:
        scored -= failed_shards(folder, plan, scoring)  # what failed in solving has left its shard for a new one
    to_solve = [shard for shard in plan.shards if shard.name not in solved]
    to_score = [shard for shard in plan.shards if shard.name in solved and shard.name not in scored]
    for warning in check_work(spec, plan.cells, bool(to_solve), bool(to_score)):
        tell(f"warning: {warning}")
    _tell_of_kept(spec, folder, bool(solved))
    folder.write_summary(_summary(spec, plan, scoring))
    scorer = ShardScorer(spec.output, spec.manifest, tuple(spec.metrics), tuple(spec.distribution))
    if to_solve or to_score:
        folder.store.delete(folder.table_name(plan.id, scoring))  # it is not what is committed any more
        _work(spec, plan.id, scorer, to_solve, to_score, done=plan.items - _rows(to_solve) - _rows(to_score))
    score_measurements(spec, folder, plan, scoring)
    return collect(folder, plan, scoring, spec.distribution)


def score_again(spec: SweepSpec, again: bool = False) -> SweepResult:
    """Score what is solved with the specification's metrics, and solve nothing."""
    folder = SweepFolder(spec.output)
    plan, scoring = read_plan(folder), scoring_id(spec.metrics, spec.distribution)
    unscored = folder.solved_shards() - (set() if again else folder.scored_shards(scoring))
    todo = [shard for shard in plan.shards if shard.name in unscored]
    scorer = ShardScorer(spec.output, spec.manifest, tuple(spec.metrics), tuple(spec.distribution))
    if todo:
        for warning in check_scoring(spec):
            tell(f"warning: {warning}")
        folder.store.delete(folder.table_name(plan.id, scoring))  # it is not what is committed any more
        connect()
        from pipelines.streaming import score_only

        with progress(_rows(todo), "images") as bar, closing(score_only(todo, scorer)) as lines:
            for line in lines:
                bar.update(line["rows"])
    score_measurements(spec, folder, plan, scoring, again)
    return collect(folder, plan, scoring, spec.distribution)


def collect(folder: SweepFolder, plan: Plan, scoring: str, distribution: Sequence[str] = ()) -> SweepResult:
    """Committed scores as one table, written beside them, and how complete it is."""
    table = collect_scores(folder, plan, scoring)
    name = folder.table_name(plan.id, scoring)
    folder.store.write_table(name, table)
    distances = cell_distances(folder, plan, scoring, distribution) if distribution else None
    if distances is not None:
        folder.store.write_table(folder.distances_name(plan.id, scoring), distances)
    url, scores = folder.store.url(name), ScoreTable(table, where=folder.store.url(name))
    metrics = judged(name for name in scores.metrics if name not in COSTS)
    references = collected_references(folder, plan, scoring, metrics)
    return SweepResult(folder, plan, count(folder, plan, scoring, table), scores, url, distances, references)


def _work(
    spec: SweepSpec, plan: str, scorer: ShardScorer, to_solve: list[Shard], to_score: list[Shard], done: int
) -> None:
    connect()
    from pipelines.solving import SolverConfig  # imports the model libraries
    from pipelines.streaming import score_only, solve_and_score  # imports Ray, which reads its settings then

    run, folder, stages = uuid.uuid4().hex, SweepFolder(spec.output), []
    if to_solve:
        placement = place(spec.resources, tell)
        tell(f"solving {_rows(to_solve)} images on {placement}")
        config = SolverConfig(
            spec.output, spec.prior, spec.solver.method, spec.resources, spec.keep, placement.threads, run
        )  # fmt: skip
        stages.append(solve_and_score(plan, to_solve, config, scorer, placement))
    if to_score:
        stages.append(score_only(to_score, scorer))
    with (
        progress(done + _rows(to_solve) + _rows(to_score), "images", done) as bar,
        patience(folder, run, devices_now) as alive,
    ):
        for lines in stages:
            with closing(lines):
                for line in lines:
                    alive()
                    bar.update(line["rows"])
                    if line.get("told"):
                        tell(line["told"])
    forget(folder)


def _tell_of_kept(spec: SweepSpec, folder: SweepFolder, begun: bool) -> None:
    """What is stored beside scores decides no id: results that are there stay as they are."""
    if not begun or not folder.store.exists("sweep.json"):
        return
    before, now = folder.read_summary()["specification"].get("keep", {}), spec.keep.model_dump(mode="json")
    added = [name for name, value in now.items() if value and value != before.get(name)]
    if added:
        tell(
            f"keep.{', keep.'.join(added)}: results that are committed already were stored without it and stay so; "
            "another output has it for all."
        )


def _rows(shards: list[Shard]) -> int:
    return sum(shard.count for shard in shards)


def count(folder: SweepFolder, plan: Plan, scoring: str, table: pa.Table) -> Counts:
    """Expected against committed ids."""
    items = planned_items(folder, plan)
    distinct = pc.unique(table["item"])
    names = {shard.name for shard in plan.shards}
    return Counts(
        expected=len(items),
        committed=pc.sum(pc.is_in(distinct, value_set=items)).as_py() or 0,
        failed=len(table) - table["error"].null_count,
        duplicates=len(table) - len(distinct),
        shards=len(plan.shards),
        solved_shards=len(names & folder.solved_shards()),
        scored_shards=len(names & folder.scored_shards(scoring)),
    )


def _summary(spec: SweepSpec, plan: Plan, scoring: str) -> dict[str, Any]:
    return {
        "specification": spec.model_dump(mode="json"),
        "plan": plan.id,
        "scoring": scoring,
        "items": plan.items,
        "cells": len(plan.cells),
        "measurements": plan.measurements,
        "manifest_digest": plan.manifest_digest,
        "prior_digest": plan.prior_digest,
        "solver_version": SOLVER_VERSION,
        "version": __version__,
        "environment": environment(),
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def counts_record(counts: Counts) -> dict[str, Any]:
    """For `--json`."""
    return asdict(counts) | {"complete": counts.complete}
