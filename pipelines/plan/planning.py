"""From specification and manifest to work items, written as Parquet before anything runs."""

import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from g2d2.priors.locating import locate_prior
from operators import InputError
from operators.validation import validate
from pipelines.manifest import Manifest
from pipelines.plan.cells import Cell, PlannedPrior, expand_cells, to_table
from pipelines.plan.chosen_metrics import chosen_metrics, with_metrics
from pipelines.plan.item_ids import fingerprint
from pipelines.plan.planned_items import PlannedItems
from pipelines.plan.race_course import Heat, heats, planned_heats
from pipelines.plan.race_items import RaceItems
from pipelines.plan.search_blocks import Block
from pipelines.plan.selected_rows import select_places
from pipelines.plan.solved_items import finished, still_held
from pipelines.plan.sweep_spec import SweepSpec
from pipelines.plan.work_items import Held, Shard, WorkItems
from pipelines.storage.ownership import refuse_others
from pipelines.storage.sweep_folder import SweepFolder

_WRITTEN = re.compile(r"plan/([0-9a-f]{32}(?:\.[1-9][0-9]*)?)\.parquet")


@dataclass(frozen=True)
class Plan:
    """What a specification comes to."""

    id: str
    manifest_digest: str
    priors: dict[str, str]
    """Digests of the priors, by the names that the specification gives them."""
    cells: list[Cell]
    measurements: int
    items: int
    shards: list[Shard]
    rows: PlannedItems = field(compare=False)
    """The work items themselves, read when they are first asked for."""

    def races(self, spec: SweepSpec) -> list[Heat]:
        """The races of a specification that has some."""
        return [] if spec.race is None else planned_heats(spec, self.cells, self.rows.table)

    def only(self, wanted: NDArray[np.bool_]) -> "Plan":
        """The same of some of its rows, for those who count and show; devices work by the plan as it is written."""
        rows = self.rows.only(wanted)
        return replace(self, items=len(rows), shards=rows.shards, rows=rows)

    def left(self, solved: Collection[str]) -> int:
        """Work items that are not solved, where these shards are."""
        return sum(shard.count for shard in self.shards if shard.name not in solved)


@dataclass(frozen=True)
class Outline:
    """A plan before its work items are written: enough to name it."""

    id: str
    manifest_digest: str
    priors: dict[str, str]
    cells: list[Cell]
    places: pa.Table

    def items(self, seeds: int) -> int:
        """Work items of so many seeds: a cell meets the measurements of its own task."""
        measured = Counter(self.places["task"].to_pylist())
        return seeds * sum(measured[cell.task] for cell in self.cells)

    def digests(self) -> dict[str, list[str]]:
        """Of the measurements of each task."""
        by_task: dict[str, list[str]] = {}
        for task, digest in zip(*(self.places[name].to_pylist() for name in ("task", "digest")), strict=True):
            by_task.setdefault(task, []).append(digest)
        return by_task


def outline(spec: SweepSpec, manifest: Manifest, block: Block | None = None) -> Outline:
    """The cells and measurements of a specification, and the id that follows from them; nothing is written."""
    priors = planned_priors(spec)
    places = select_places(spec, manifest)
    places = places if block is None else block.of(places)
    tasks = pc.unique(places["task"]).to_pylist()
    cells = expand_cells(spec, tasks, priors)
    metrics = [] if spec.race is None else chosen_metrics(spec, manifest)
    race: list[Any] = [] if spec.race is None else [spec.race.model_dump(mode="json"), spec.race.raced(metrics)]
    race += [] if block is None else [block.search, block.number]
    plan = fingerprint(
        "plan", manifest.digest, [[cell.id, cell.recipe] for cell in cells], spec.seeds, spec.select.model_dump(), *race
    )
    return Outline(plan, manifest.digest, {name: prior.digest for name, prior in priors.items()}, cells, places)


def planned_priors(spec: SweepSpec) -> dict[str, PlannedPrior]:
    """The priors of all arms, each located and hashed once."""
    names = dict.fromkeys(arm.prior for arm in spec.all_arms().values() if arm.prior is not None)
    located = {name: locate_prior(name) for name in names}
    return {name: PlannedPrior(prior, prior.digest()) for name, prior in located.items()}


def make_plan(spec: SweepSpec, folder: SweepFolder, retry_failed: bool = False, block: Block | None = None) -> Plan:
    """The plan of this specification, on a batch's measurements alone: as it was written before, or written now.

    It is written anew, under the next number, where another plan of this folder has solved something of it since, or
    failed rows are to be solved again. A plan that is written never changes: somebody may be working by it.
    """
    refuse_others(spec, folder)
    spec = spec if spec.race is None else with_metrics(spec)  # says by what it is raced
    lines = outline(spec, Manifest.open(spec.manifest), block)
    id, solved, shards = _newest(folder, lines.id), folder.solved_shards(), list[Shard]()
    if id is None:
        held: Held | None = finished(folder, solved)
    else:
        rows = PlannedItems(folder, id)
        _refuse_changed(folder, folder.plan_name(id), len(rows), lines.items(len(spec.seeds)), "work items")
        shards, held = rows.shards, still_held(folder, rows, solved, retry_failed)
    if held is not None:
        id = lines.id if id is None else _after(id)
        items = _work_items(spec, lines, held)
        shards = folder.store.write_with(folder.plan_name(id), lambda file: items.write(file, solved))
        rows = PlannedItems(folder, id)
    assert id is not None
    if held is not None or not _holds_cells(folder, id, lines.cells):
        folder.store.write_table(folder.cells_name(id), to_table(lines.cells))
    return Plan(
        id=id,
        manifest_digest=lines.manifest_digest,
        priors=lines.priors,
        cells=lines.cells,
        measurements=len(lines.places),
        items=sum(shard.count for shard in shards),
        shards=shards,
        rows=rows,
    )


def _work_items(spec: SweepSpec, lines: Outline, held: Held) -> WorkItems:
    """In the order in which they are solved: a race goes round by round."""
    if spec.race is None:
        return WorkItems(lines.cells, lines.places, spec.seeds, held, spec.resources.shard)
    races = heats(spec, lines.cells, lines.digests())
    return RaceItems(lines.cells, lines.places, spec.seeds, held, spec.resources.shard, races)


def _refuse_changed(folder: SweepFolder, name: str, rows: int, expected: int, what: str) -> None:
    """What a plan does not name is never solved, and would not be missed either."""
    if rows != expected:
        raise InputError(
            f"sweep {folder.url}: its {name} has {rows} {what} and must have {expected}; it was changed after it was "
            "written. Remove that file and run the sweep again, which writes it anew."
        )


def _holds_cells(folder: SweepFolder, plan: str, cells: list[Cell]) -> bool:
    """Whether the plan's cells are there and whole; they follow from the specification and can be written again."""
    try:
        return folder.cells(plan) == cells
    except (InputError, OSError):
        return False


def _newest(folder: SweepFolder, plan: str) -> str | None:
    """The id under which this plan was written last."""
    names = (_WRITTEN.fullmatch(name) for name in folder.store.list(f"plan/{plan}"))
    return max((name[1] for name in names if name), key=_number, default=None)


def _number(plan: str) -> int:
    return int(plan.partition(".")[2] or 1)


def _after(plan: str) -> str:
    return f"{plan.partition('.')[0]}.{_number(plan) + 1}"


def stored_spec(folder: SweepFolder, summary: Mapping[str, Any]) -> SweepSpec:
    """The specification of the sweep in a folder."""
    where = f"sweep {folder.store.url('sweep.json')}"
    spec: SweepSpec = validate(SweepSpec, summary["specification"], where=where)
    return spec


def read_whole_plan(folder: SweepFolder) -> Plan:
    """The plan that a sweep's folder is about, as it is written; `read_plan` knows what a race makes of it."""
    summary = folder.read_summary()
    rows, cells = PlannedItems(folder, summary["plan"]), folder.cells(summary["plan"])
    _refuse_changed(folder, folder.plan_name(summary["plan"]), len(rows), summary["items"], "work items")
    _refuse_changed(folder, folder.cells_name(summary["plan"]), len(cells), summary["cells"], "cells")
    return Plan(
        id=summary["plan"],
        manifest_digest=summary["manifest_digest"],
        priors=summary["priors"],
        cells=cells,
        measurements=summary["measurements"],
        items=len(rows),
        shards=rows.shards,
        rows=rows,
    )
