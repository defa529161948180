"""The work of a sweep: shards of its plan through devices and scorers, as far as they are not committed."""

import uuid
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from typing import Any

from operators.plurals import counted
from pipelines.console.progress import progress
from pipelines.plan.planning import Plan
from pipelines.plan.readiness import check_work
from pipelines.plan.sweep_spec import SweepSpec
from pipelines.plan.work_items import Shard
from pipelines.score.scoring import ShardScorer
from pipelines.solve.attempts import forget
from pipelines.solve.dealing import Watcher
from pipelines.solve.devices import connect, devices_now, place
from pipelines.solve.machine_load import LoadRecord
from pipelines.solve.patience import announce, patience
from pipelines.storage.sweep_folder import SweepFolder


class Work:
    """Shards of one plan; what was `run` is committed."""

    def __init__(
        self, spec: SweepSpec, folder: SweepFolder, plan: Plan, scorer: ShardScorer, again: Iterable[str] = ()
    ):
        """`again` are shards to score though their scores are there."""
        self.spec, self.folder, self.plan, self.scorer, self.again = spec, folder, plan, scorer, set(again)

    def scored(self) -> set[str]:
        """Shards that need no scoring."""
        return self.folder.scored_shards(self.scorer.scoring.id) - self.again

    def waiting(self, shards: Iterable[Shard]) -> tuple[list[Shard], list[Shard]]:
        """Those to solve and score, and those to score alone."""
        solved, scored = self.folder.solved_shards(), self.scored()
        left = [shard for shard in shards if shard.name not in solved or shard.name not in scored]
        return [one for one in left if one.name not in solved], [one for one in left if one.name in solved]

    def check(self, shards: Iterable[Shard]) -> None:
        """Refuse what could never be done, before anything heavy starts."""
        to_solve, to_score = self.waiting(shards)
        for warning in check_work(self.spec, self.plan.cells, bool(to_solve), bool(to_score)):
            announce(f"warning: {warning}")
        self._announce_kept()

    def run(self, shards: Sequence[Shard], watcher: Watcher | None = None) -> None:
        """Commit what is left of these; with a watcher, until it wants no more of them."""
        to_solve, to_score = self.waiting(shards)
        if not to_solve and not to_score:
            return
        done = count_rows(shards) - count_rows(to_solve) - count_rows(to_score)
        run = uuid.uuid4().hex
        stages = self._stages(to_solve, to_score, run, watcher)
        load = LoadRecord(self.folder, run)
        with (
            progress(count_rows(shards), "images", done) as bar,
            patience(self.folder, run, devices_now) as alive,
            load.kept(),
        ):
            bar.note("" if watcher is None else watcher.words())
            for part, lines in stages:
                left = {shard.name: shard for shard in part}
                with closing(lines):
                    for line in lines:
                        alive()
                        load.add(line.get("load"))
                        if left.pop(line["shard"], None) is not None:
                            bar.update(line["rows"])
                        self._committed(line)
                        if watcher is None:
                            continue
                        if not line.get("skipped") and watcher.scored(line["shard"]):
                            bar.note(watcher.words())
                            for name in [name for name in left if part is to_solve and not watcher.wants(name)]:
                                bar.drop(left.pop(name).count)
                        if (
                            not left
                        ):  # what is not wanted is given to nobody, so that the lines do not end by themselves
                            break
        forget(self.folder)

    def _stages(
        self, to_solve: list[Shard], to_score: list[Shard], run: str, watcher: Watcher | None
    ) -> list[tuple[list[Shard], Any]]:
        """Shards with the lines about them; what is to be scored alone comes first where it decides what to solve."""
        connect()
        from pipelines.solve.solving import SolverConfig  # imports the model libraries
        from pipelines.solve.streaming import score_only, solve_and_score  # imports Ray, which reads its settings then

        stages: list[tuple[list[Shard], Any]] = []
        if to_solve:
            placement = place(self.spec.resources, announce)
            announce(f"solving {counted(count_rows(to_solve), 'image')} on {placement}")
            spec = self.spec
            config = SolverConfig(spec.output, self.plan.priors, spec.resources, spec.keep, placement.threads, run)
            lines = solve_and_score(self.plan.id, to_solve, config, self.scorer, placement, watcher)
            stages.append((to_solve, lines))
        if to_score:
            stages.insert(0 if watcher is not None else len(stages), (to_score, score_only(to_score, self.scorer)))
        return stages

    def _committed(self, line: Mapping[str, Any]) -> None:
        for message in line.get("messages") or ():
            announce(message)
        if line.get("skipped"):
            return
        self.folder.committed(self.folder.solved_name(line["shard"]))
        self.folder.committed(self.scorer.written(line["shard"]))
        self.again.discard(line["shard"])

    def _announce_kept(self) -> None:
        """What is stored beside scores decides no id: results that are there stay as they are."""
        folder = self.folder
        if not folder.solved_shards() or not folder.store.exists("sweep.json"):
            return
        before, now = folder.read_summary()["specification"].get("keep", {}), self.spec.keep.model_dump(mode="json")
        added = [name for name, value in now.items() if value and value != before.get(name)]
        if added:
            announce(
                f"keep.{', keep.'.join(added)}: results that are committed already were stored without it and stay so; "
                "another output has it for all."
            )


def count_rows(shards: Iterable[Shard]) -> int:
    """Work items in them."""
    return sum(shard.count for shard in shards)
