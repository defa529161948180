"""A sweep as it lies in its folder, with the record that terminal, MLflow and report render."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from eval.record import SweepRecord
from eval.record.sweep_record import Distances
from eval.scores import ScoreTable
from pipelines.plan.planning import Plan, stored_spec
from pipelines.plan.race_record import RaceRecord, read_plan, read_race, solved_too_early
from pipelines.plan.search_record import SearchRecord, read_trials
from pipelines.plan.sweep_spec import SweepSpec
from pipelines.score.collecting import current_scores, unscored_notes
from pipelines.score.features import distance_notes, distances_by_cell, read_distances
from pipelines.score.measurement_scores import read_collected
from pipelines.score.race_results import race_words
from pipelines.score.scorings import known_scorings
from pipelines.storage.sweep_folder import SweepFolder


@dataclass(frozen=True)
class StoredSweep:
    """A sweep's specification, what `sweep.json` adds to it, its plan and all that is scored."""

    folder: SweepFolder
    spec: SweepSpec
    summary: dict[str, Any]
    plan: Plan
    scores: ScoreTable
    scores_url: str
    distances: Distances
    """Distances such as `fid` by cell and name, with how many images each is over."""

    measured: pa.Table | None = None
    """Scores of the measurements themselves."""

    restricted: tuple[str, ...] | None = None
    """Names of the metrics and distances to show; all where it is None."""

    @classmethod
    def read(cls, folder: SweepFolder) -> "StoredSweep":
        """The current plan and scores of the sweep in a folder, finished or not."""
        summary, plan = folder.read_summary(), read_plan(folder)
        scoring, url = summary["scoring"], folder.store.url(folder.table_name(plan.id, summary["scoring"]))
        return cls(
            folder=folder,
            spec=stored_spec(folder, summary),
            summary=summary,
            plan=plan,
            scores=current_scores(folder, plan, known_scorings(folder, summary), where=url),
            scores_url=url,
            distances=distances_by_cell(read_distances(folder, plan.id, scoring)),
            measured=read_collected(folder, plan.id, scoring),
        )

    def only(self, metrics: Sequence[str]) -> "StoredSweep":
        """The same with some of its metrics and distances alone."""
        named = {name for distances in self.distances.values() for name in distances}
        distances = {
            cell: {name: one for name, one in known.items() if name in metrics}
            for cell, known in self.distances.items()
        }
        scores = self.scores.only([name for name in metrics if name not in named])
        return replace(self, scores=scores, distances=distances, restricted=tuple(metrics))

    @cached_property
    def record(self) -> SweepRecord:
        """Cells, labels, means, winners and contrasts."""
        return SweepRecord(
            self.scores,
            compare=self.spec.compare,
            arms=self.spec.arm_names(),
            measured=self.measured,
            distances=self.distances,
            race=None if self.race is None else race_words(self.spec, self.race, self.scores),
        )

    @cached_property
    def race(self) -> RaceRecord | None:
        """Who is in, who left when and why, where the specification has a race that has begun."""
        return None if self.spec.race is None else read_race(self.folder, self.plan.id)

    @cached_property
    def early(self) -> int:
        """Work items that a race has solved ahead of their round and then did not ask for."""
        return 0 if self.race is None else solved_too_early(self.folder, self.plan, self.race)

    @cached_property
    def search(self) -> SearchRecord | None:
        """All trials of the search whose last batch this is, where it is one."""
        return read_trials(self.folder, self.summary.get("search"))

    @property
    def methods(self) -> str:
        """Of all arms."""
        return ", ".join(dict.fromkeys(arm.method for arm in self.spec.all_arms().values()))

    @property
    def prior(self) -> str:
        """The priors of all arms; empty where none is used."""
        return ", ".join(dict.fromkeys(arm.prior for arm in self.spec.all_arms().values() if arm.prior is not None))

    @property
    def preset(self) -> str:
        """Where the settings of each arm start from: `paper imagenet-sr4`."""
        arms = self.spec.all_arms().values()
        return ", ".join(dict.fromkeys(filter(None, (" ".join(filter(None, [a.preset, a.experiment])) for a in arms))))

    def shared(self) -> dict[str, str]:
        """What all cells, now and after any extension, have in common."""
        return {"dtype": " ".join([self.spec.resources.dtype, *self.spec.resources.variants])}

    @property
    def scoring(self) -> str:
        """Id of the way in which the scores were made that the specification asks for."""
        return str(self.summary["scoring"])

    @property
    def expected(self) -> int:
        """Rows of the plan."""
        return self.plan.items

    @cached_property
    def failed(self) -> int:
        """Scored rows that carry an error."""
        return int(self.scores.errors.total())

    @property
    def missing(self) -> int:
        return self.expected - len(self.scores)

    @cached_property
    def notes(self) -> list[str]:
        """Which metrics and distances lack images that the sweep has, and what cannot be compared."""
        scorings = known_scorings(self.folder, self.summary)
        unscored = unscored_notes(self.scores, self.folder.url, scorings)
        return [*unscored, *distance_notes(self.distances), *self.record.notes]

    def devices(self) -> list[str]:
        """Names of the devices that solved, without the machines they are in."""
        folder = self.folder
        shards = sorted({shard.name for shard in self.plan.shards} & folder.solved_shards())
        solved = folder.read_many(shards, lambda shard: folder.read_solved(shard, ["device"]))
        devices = {name for _, table in solved for name in pc.unique(table["device"]).to_pylist() if name is not None}
        return sorted({device.rpartition(" ")[0] or device for device in devices})
