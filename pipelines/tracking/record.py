"""A sweep as it lies in its folder: all that tracking reads."""

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pyarrow.compute as pc
from pydantic import BaseModel, ConfigDict

from eval.distribution import CellDistance
from eval.scores import ScoreTable
from eval.seconds import CellSeconds, cell_seconds
from eval.statistics import Interval
from operators.validation import validate
from pipelines.cells import Cell, varied
from pipelines.committed import current_scores, unscored_notes
from pipelines.features import distance_notes, distances_by_cell, read_distances
from pipelines.identity import fingerprint
from pipelines.layout import SweepFolder, read_record
from pipelines.plan import read_plan
from pipelines.references import measurement_means, read_collected
from pipelines.scorings import known_scorings
from pipelines.spec import SweepSpec

_NAME = "tracking.json"


class _FolderId(BaseModel):
    model_config = ConfigDict(strict=True)

    id: str


@dataclass(frozen=True)
class Record:
    """A sweep's specification, what `sweep.json` adds to it, its cells and its scores."""

    folder: SweepFolder
    spec: SweepSpec
    summary: dict[str, Any]
    cells: list[Cell]
    scores: ScoreTable
    scores_url: str
    scoring: str
    """Id of the way in which the scores were made that the specification asks for."""

    restricted: tuple[str, ...] | None = None
    """Names of the metrics and distances to show; all where it is None."""

    @classmethod
    def read(cls, url: str) -> "Record":
        """The current plan and scores of the sweep in this folder."""
        folder = SweepFolder(url)
        summary, plan = folder.read_summary(), read_plan(folder)
        url = folder.store.url(folder.table_name(plan.id, summary["scoring"]))
        return cls(
            folder=folder,
            spec=validate(SweepSpec, summary["specification"], where=f"sweep {folder.store.url('sweep.json')}"),
            summary=summary,
            cells=plan.cells,
            scores=ScoreTable(current_scores(folder, plan, known_scorings(folder, summary)), where=url),
            scores_url=url,
            scoring=summary["scoring"],
        )

    def only(self, metrics: Sequence[str]) -> "Record":
        """The same with some of its metrics and distances alone."""
        named = {name for distances in self.all_distances.values() for name in distances}
        scores = self.scores.only([name for name in metrics if name not in named])
        return replace(self, scores=scores, restricted=tuple(metrics))

    @cached_property
    def scored(self) -> list[Cell]:
        """The cells of which something is scored, in the plan's order."""
        known = set(self.scores.cells())
        return [cell for cell in self.cells if cell.id in known]

    @cached_property
    def varied(self) -> list[str]:
        """Settings that the grid varies."""
        named = set(self.spec.grid.names())
        return [name for name in varied(self.cells) if name in named]

    @cached_property
    def tuned(self) -> list[str]:
        """Settings that differ only because they were tuned for each task and process."""
        return [name for name in varied(self.cells) if name not in self.varied]

    @cached_property
    def distances(self) -> dict[str, dict[str, CellDistance]]:
        """Distances such as `fid` by cell and name, with how many images each is over."""
        shown = self.restricted
        return {
            cell: {name: one for name, one in distances.items() if shown is None or name in shown}
            for cell, distances in self.all_distances.items()
        }

    @cached_property
    def all_distances(self) -> dict[str, dict[str, CellDistance]]:
        """The same, whatever is shown."""
        return distances_by_cell(read_distances(self.folder, self.summary["plan"], self.scoring))

    @cached_property
    def seconds(self) -> dict[str, CellSeconds]:
        """What an image takes, by cell."""
        return cell_seconds(self.scores)

    @cached_property
    def notes(self) -> list[str]:
        """Which metrics and distances lack images that the sweep has, and why."""
        scorings = known_scorings(self.folder, self.summary)
        return [*unscored_notes(self.scores.table, self.folder.url, scorings), *distance_notes(self.distances)]

    @cached_property
    def measurements(self) -> dict[str, dict[str, Interval]]:
        """What the measurements are worth as images, by task and metric; empty where that was not scored."""
        return measurement_means(read_collected(self.folder, self.summary["plan"], self.scoring), self.scores)

    def label(self, cell: Cell) -> str:
        """A name for people: `sr4-32 star eta_kl=0.0003 gamma=0.1`."""
        words = [cell.task, *([str(cell.settings["process"])] if "process" in cell.settings else [])]
        words += [_worded(name, cell.settings[name]) for name in self.varied if name != "process"]
        return " ".join(words)

    def key(self) -> str:
        """The same for every resumption and extension of this sweep; two folders never share it.

        What is part of every cell's id is part of it: with another prior no cell is the same, and nor is the sweep.
        """
        self.folder.store.create_new(_NAME, json.dumps({"id": uuid.uuid4().hex}).encode())
        folder_id = read_record(self.folder.store, _NAME, _FolderId)
        return fingerprint("sweep", folder_id.id, self.spec.name, self.shared())

    def shared(self) -> dict[str, str]:
        """What all cells, now and after any extension, have in common."""
        return {
            "method": self.spec.solver.method,
            "prior_digest": self.summary["prior_digest"],
            "dtype": " ".join([self.spec.resources.dtype, *self.spec.resources.variants]),
            "solver_version": str(self.summary["solver_version"]),
        }

    def devices(self) -> list[str]:
        """Names of the devices that solved, without the machines they are in."""
        folder = self.folder
        names = folder.store.read_table(folder.plan_name(self.summary["plan"]), columns=["shard"])["shard"]
        shards = sorted(set(pc.unique(names).to_pylist()) & folder.solved_shards())
        solved = folder.read_many(shards, lambda shard: folder.read_solved(shard, ["device"]))
        devices = {name for _, table in solved for name in pc.unique(table["device"]).to_pylist() if name is not None}
        return sorted({device.rpartition(" ")[0] or device for device in devices})


def _worded(name: str, value: object) -> str:
    if isinstance(value, str):
        return value
    return f"{name}={value:g}" if isinstance(value, float) else f"{name}={str(value).lower()}"
