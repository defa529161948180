"""A sweep from specification to checked, scored results: plan, solve, score, count, track."""

import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from itertools import chain
from typing import Any

import pyarrow as pa

from eval.scores import ScoreTable
from g2d2.version import __version__
from pipelines.console.progress import progress
from pipelines.plan.chosen_metrics import chosen_metrics, with_metrics
from pipelines.plan.planning import Plan, make_plan, stored_spec
from pipelines.plan.race_record import raced_plan, read_plan
from pipelines.plan.readiness import check_scoring
from pipelines.plan.search_blocks import Block
from pipelines.plan.sweep_spec import SweepSpec
from pipelines.plan.work_items import Shard
from pipelines.racing import RaceRun
from pipelines.score.collecting import Collected, collect_scores, unscored_notes
from pipelines.score.committed import failed_shards
from pipelines.score.features import cell_distances, distance_notes, distances_by_cell, without_features
from pipelines.score.lost_rows import lost_rows
from pipelines.score.measurement_scores import collected_references, score_measurements
from pipelines.score.race_standings import Standings
from pipelines.score.scoring import ShardScorer
from pipelines.score.scorings import Scoring, added_record, chosen_scorings, known_scorings
from pipelines.score.stored_sweep import StoredSweep
from pipelines.solve.devices import connect
from pipelines.solve.patience import announce
from pipelines.storage.sweep_folder import SweepFolder
from pipelines.track.environment import environment
from pipelines.working import Work, count_rows


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
    summary: dict[str, Any]
    """As `sweep.json` has it, until another sweep begins in an output that they share."""

    counts: Counts
    scores: ScoreTable
    scores_url: str
    distances: pa.Table | None = None
    """Distances of every cell, where some were asked for."""

    references: pa.Table | None = None
    """Scores of the measurements themselves."""

    notes: Sequence[str] = ()
    """Which metrics and distances lack images that the sweep has, and why."""

    def stored(self, spec: SweepSpec) -> StoredSweep:
        """With the record that everything which shows it reads."""
        if spec.grid.search:
            spec = stored_spec(self.folder, self.summary)  # of its last batch
        elif spec.metrics is None:
            spec = spec.model_copy(update={"metrics": self.summary["specification"]["metrics"]})
        return StoredSweep(
            self.folder, spec, self.summary, self.plan, self.scores, self.scores_url,
            distances_by_cell(self.distances), self.references,
        )  # fmt: skip


def run_sweep(spec: SweepSpec, retry_failed: bool = False, block: Block | None = None) -> SweepResult:
    """Solve and score what is not committed yet, then count everything. Call again to go on after any interruption.

    With a block it is one batch of a search.
    """
    folder = SweepFolder(spec.output).remembering()
    plan = make_plan(spec, folder, retry_failed, block)
    spec = with_metrics(spec)
    scoring = Scoring.of(chosen_metrics(spec), spec.distribution)
    # what failed in solving has left its shard for a new one
    again = failed_shards(folder, plan, scoring.id) if retry_failed else set()
    work = Work(spec, folder, plan, ShardScorer(spec.output, spec.manifest, scoring), again)
    race = None if spec.race is None else RaceRun(work, Standings(spec, plan))
    stages = iter([plan.shards]) if race is None else race.stages()
    first = next(stages, [])
    work.check(first)
    summary = sweep_summary(spec, plan, scoring) | _added(folder, scoring)
    summary |= {} if block is None else {"search": block.search}
    folder.write_summary(summary)
    if any(work.waiting(first)):
        _forget_collected(folder, plan, scoring)
    for shards in chain([first], stages):
        work.run(shards, race)
    if race is not None:
        plan = raced_plan(folder, plan, spec)
    _complete_features(folder, plan, work.scorer)
    score_measurements(spec, folder, plan, scoring)
    return collect(folder, plan, summary)


def score_again(spec: SweepSpec, again: bool = False) -> SweepResult:
    """Score what is solved with these metrics and distances, whoever asked for them first, and solve nothing.

    What no scoring of the folder has yet becomes one of its own, beside the others.
    """
    folder = SweepFolder(spec.output).remembering()
    plan, summary, solved = read_plan(folder), folder.read_summary(), folder.solved_shards()
    old, *added = known_scorings(folder, summary)
    own = Scoring.of(old.metrics, old.distribution)  # under another id where an earlier version made it
    chosen = chosen_scorings([own, *added], spec.metrics or [], spec.distribution)
    left = [solved - (set() if again else folder.scored_shards(scoring.id)) for scoring in chosen]
    # a scoring is computed whole, whichever of its names was asked for
    due = [scoring for scoring, unscored in zip(chosen, left, strict=True) if unscored]
    names = ([name for one in due for name in one.metrics], [name for one in due for name in one.distribution])
    for warning in check_scoring(*names):
        announce(f"warning: {warning}")
    own = own if own in chosen else old
    summary |= {"scoring": own.id} | added_record([*added, *chosen], own)
    folder.write_summary(summary)
    _forget_collected(folder, plan, own)
    for scoring, unscored in zip(chosen, left, strict=True):
        scorer = ShardScorer(spec.output, spec.manifest, scoring)
        _score(folder, scorer, [shard for shard in plan.shards if shard.name in unscored])
        _complete_features(folder, plan, scorer)
        score_measurements(spec, folder, plan, scoring, again)
    return collect(folder, plan, summary)


def collect(folder: SweepFolder, plan: Plan, summary: dict[str, Any]) -> SweepResult:
    """Committed scores of all scorings as one table, written beside them, and how complete it is."""
    summary = _present(folder, summary)
    scorings = known_scorings(folder, summary)
    own = scorings[0].id
    collected = collect_scores(folder, plan, scorings)
    scores = collected.scores
    distances = cell_distances(folder, plan, scorings)
    if distances is not None:
        folder.store.write_table(folder.distances_name(plan.id, own), distances)
    references = collected_references(folder, plan, scorings)
    counts = count(folder, plan, own, collected)
    notes = [*unscored_notes(scores, folder.url, scorings), *distance_notes(distances_by_cell(distances))]
    if not counts.complete:
        notes += [lost.sentence for lost in lost_rows(folder, plan, own)]
    url = folder.store.url(folder.table_name(plan.id, own))
    return SweepResult(folder, plan, summary, counts, scores, url, distances, references, notes)


def _present(folder: SweepFolder, summary: dict[str, Any]) -> dict[str, Any]:
    """The summary as `g2d2 score` may have added to it meanwhile; as it was, where the file is another sweep's now."""
    now = folder.read_summary()
    same = all(now[name] == summary[name] for name in ("plan", "scoring"))
    return now if same and now["specification"]["name"] == summary["specification"]["name"] else summary


def _added(folder: SweepFolder, own: Scoring) -> dict[str, Any]:
    """What was scored in this folder besides, as the summary of the sweep carries it on."""
    return added_record(known_scorings(folder), own) if folder.store.exists("sweep.json") else {}


def _forget_collected(folder: SweepFolder, plan: Plan, own: Scoring) -> None:
    """What was collected is not what is committed any more."""
    folder.store.delete(folder.table_name(plan.id, own.id))
    folder.store.delete(folder.distances_name(plan.id, own.id))


def _complete_features(folder: SweepFolder, plan: Plan, scorer: ShardScorer) -> None:
    """Features that a worker had to skip, now that one may have the weights."""
    for network, shards in without_features(folder, plan, scorer.scoring).items():
        _score(folder, replace(scorer, only_network=network), shards)


def _score(folder: SweepFolder, scorer: ShardScorer, shards: list[Shard]) -> None:
    if not shards:
        return
    connect()
    from pipelines.solve.streaming import score_only

    with progress(count_rows(shards), "images") as bar, closing(score_only(shards, scorer)) as lines:
        for line in lines:
            bar.update(line["rows"])
            folder.committed(scorer.written(line["shard"]))


def count(folder: SweepFolder, plan: Plan, scoring: str, collected: Collected) -> Counts:
    """Expected against committed ids: of each shard the rows of its own items were collected."""
    names = {shard.name for shard in plan.shards}
    return Counts(
        expected=plan.items,
        committed=collected.items,
        failed=collected.scores.errors.total(),
        duplicates=len(collected.scores) - collected.items,
        shards=len(plan.shards),
        solved_shards=len(names & folder.solved_shards()),
        scored_shards=len(names & folder.scored_shards(scoring)),
    )


def sweep_summary(spec: SweepSpec, plan: Plan, scoring: Scoring) -> dict[str, Any]:
    """What `sweep.json` says of a sweep that begins."""
    return {
        "specification": spec.model_dump(mode="json"),
        "plan": plan.id,
        "scoring": scoring.id,
        "items": plan.items,
        "cells": len(plan.cells),
        "measurements": plan.measurements,
        "manifest_digest": plan.manifest_digest,
        "priors": plan.priors,
        "version": __version__,
        "environment": environment(),
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def counts_record(counts: Counts) -> dict[str, Any]:
    """For `--json`."""
    return asdict(counts) | {"complete": counts.complete}
