"""A sweep from specification to checked, scored results: plan, solve, score, count, track."""

import time
import uuid
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from eval.scores import ScoreTable
from g2d2.version import __version__
from operators.plurals import counted
from pipelines.console.progress import progress
from pipelines.plan.planning import Plan, make_plan, read_plan
from pipelines.plan.readiness import check_scoring, check_work
from pipelines.plan.sweep_spec import SweepSpec
from pipelines.plan.work_items import Shard
from pipelines.score.committed import collect_scores, failed_shards, unscored_notes
from pipelines.score.features import cell_distances, distance_notes, distances_by_cell, without_features
from pipelines.score.lost_rows import lost_rows
from pipelines.score.measurement_scores import collected_references, score_measurements
from pipelines.score.scoring import ShardScorer
from pipelines.score.scorings import Scoring, added_record, chosen_scorings, known_scorings
from pipelines.score.stored_sweep import StoredSweep
from pipelines.solve.attempts import forget
from pipelines.solve.devices import connect, devices_now, place
from pipelines.solve.patience import announce, patience
from pipelines.storage.sweep_folder import SweepFolder
from pipelines.track.environment import environment


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
        return StoredSweep(
            self.folder, spec, self.summary, self.plan, self.scores, self.scores_url,
            distances_by_cell(self.distances), self.references,
        )  # fmt: skip


def run_sweep(spec: SweepSpec, retry_failed: bool = False) -> SweepResult:
    """Solve and score what is not committed yet, then count everything. Call again to go on after any interruption."""
    folder = SweepFolder(spec.output).remembering()
    plan = make_plan(spec, folder, retry_failed)
    scoring = Scoring.of(spec.metrics, spec.distribution)
    solved, scored = folder.solved_shards(), folder.scored_shards(scoring.id)
    if retry_failed:
        scored -= failed_shards(folder, plan, scoring.id)  # what failed in solving has left its shard for a new one
    to_solve = [shard for shard in plan.shards if shard.name not in solved]
    to_score = [shard for shard in plan.shards if shard.name in solved and shard.name not in scored]
    for warning in check_work(spec, plan.cells, bool(to_solve), bool(to_score)):
        announce(f"warning: {warning}")
    _announce_kept(spec, folder, bool(solved))
    summary = _summary(spec, plan, scoring) | _added(folder, scoring)
    folder.write_summary(summary)
    scorer = ShardScorer(spec.output, spec.manifest, scoring)
    if to_solve or to_score:
        _forget_collected(folder, plan, scoring)
        _work(spec, folder, plan, scorer, to_solve, to_score, done=plan.items - _rows(to_solve) - _rows(to_score))
    _complete_features(folder, plan, scorer)
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
    chosen = chosen_scorings([own, *added], spec.metrics, spec.distribution)
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
    table = collect_scores(folder, plan, scorings)
    name = folder.table_name(plan.id, own)
    distances = cell_distances(folder, plan, scorings)
    if distances is not None:
        folder.store.write_table(folder.distances_name(plan.id, own), distances)
    references = collected_references(folder, plan, scorings)
    folder.store.write_table(name, table)
    url, scores = folder.store.url(name), ScoreTable(table, where=folder.store.url(name))
    counts = count(folder, plan, own, table)
    notes = [*unscored_notes(table, folder.url, scorings), *distance_notes(distances_by_cell(distances))]
    if not counts.complete:
        notes += [lost.sentence for lost in lost_rows(folder, plan, own)]
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

    with progress(_rows(shards), "images") as bar, closing(score_only(shards, scorer)) as lines:
        for line in lines:
            bar.update(line["rows"])
            folder.committed(scorer.written(line["shard"]))


def _work(
    spec: SweepSpec,
    folder: SweepFolder,
    plan: Plan,
    scorer: ShardScorer,
    to_solve: list[Shard],
    to_score: list[Shard],
    done: int,
) -> None:
    connect()
    from pipelines.solve.solving import SolverConfig  # imports the model libraries
    from pipelines.solve.streaming import score_only, solve_and_score  # imports Ray, which reads its settings then

    run, stages = uuid.uuid4().hex, []
    if to_solve:
        placement = place(spec.resources, announce)
        announce(f"solving {counted(_rows(to_solve), 'image')} on {placement}")
        config = SolverConfig(spec.output, plan.priors, spec.resources, spec.keep, placement.threads, run)
        stages.append(solve_and_score(plan.id, to_solve, config, scorer, placement))
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
                    folder.committed(folder.solved_name(line["shard"]))
                    folder.committed(scorer.written(line["shard"]))
                    for message in line.get("messages") or ():
                        announce(message)
    forget(folder)


def _announce_kept(spec: SweepSpec, folder: SweepFolder, begun: bool) -> None:
    """What is stored beside scores decides no id: results that are there stay as they are."""
    if not begun or not folder.store.exists("sweep.json"):
        return
    before, now = folder.read_summary()["specification"].get("keep", {}), spec.keep.model_dump(mode="json")
    added = [name for name, value in now.items() if value and value != before.get(name)]
    if added:
        announce(
            f"keep.{', keep.'.join(added)}: results that are committed already were stored without it and stay so; "
            "another output has it for all."
        )


def _rows(shards: list[Shard]) -> int:
    return sum(shard.count for shard in shards)


def count(folder: SweepFolder, plan: Plan, scoring: str, table: pa.Table) -> Counts:
    """Expected against committed ids."""
    items = plan.rows.ids
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


def _summary(spec: SweepSpec, plan: Plan, scoring: Scoring) -> dict[str, Any]:
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
