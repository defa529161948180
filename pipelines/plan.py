"""From specification and manifest to work items, written as Parquet before anything runs."""

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from g2d2.priors.digest import prior_digest
from g2d2.priors.locating import locate_prior
from g2d2.version import SOLVER_VERSION
from operators import InputError
from pipelines.cells import Cell, expand_cells, to_table
from pipelines.identity import fingerprint
from pipelines.layout import SweepFolder
from pipelines.manifest import Manifest
from pipelines.ownership import refuse_others
from pipelines.selection import select_places
from pipelines.solved_items import finished, still_held
from pipelines.spec import SweepSpec
from pipelines.storage import ParquetReader, readable
from pipelines.work_items import ITEM_SCHEMA, Held, Shard, WorkItems

_WRITTEN = re.compile(r"plan/([0-9a-f]{32}(?:\.[1-9][0-9]*)?)\.parquet")


@dataclass(frozen=True)
class Plan:
    """What a specification comes to."""

    id: str
    manifest_digest: str
    prior_digest: str
    cells: list[Cell]
    measurements: int
    items: int
    shards: list[Shard]


@dataclass(frozen=True)
class Outline:
    """A plan before its work items are written: enough to name it."""

    id: str
    manifest_digest: str
    prior_digest: str
    cells: list[Cell]
    places: pa.Table

    def items(self, seeds: int) -> int:
        """Work items of so many seeds: a cell meets the measurements of its own task."""
        measured = Counter(self.places["task"].to_pylist())
        return seeds * sum(measured[cell.task] for cell in self.cells)


def outline(spec: SweepSpec, manifest: Manifest, prior_folder: Path) -> Outline:
    """The cells and measurements of a specification, and the id that follows from them; nothing is written."""
    digest = prior_digest(prior_folder)
    places = select_places(spec, manifest)
    tasks = pc.unique(places["task"]).to_pylist()
    cells = expand_cells(spec, tasks, prior_folder, digest)
    plan = fingerprint(
        "plan", SOLVER_VERSION, manifest.digest, digest, [[cell.id, cell.recipe] for cell in cells], spec.seeds,
        spec.select.model_dump(),
    )  # fmt: skip
    return Outline(plan, manifest.digest, digest, cells, places)


def make_plan(spec: SweepSpec, folder: SweepFolder, retry_failed: bool = False) -> Plan:
    """The plan of this specification: as it was written before, or written now.

    It is written anew, under the next number, where another plan of this folder has solved something of it since, or
    failed rows are to be solved again. A plan that is written never changes: somebody may be working by it.
    """
    refuse_others(spec, folder)
    lines = outline(spec, Manifest.open(spec.manifest), locate_prior(spec.prior))
    id, solved, shards = _newest(folder, lines.id), folder.solved_shards(), list[Shard]()
    if id is None:
        held: Held | None = finished(folder, solved)
    else:
        shards, rows = read_shards(folder, id)
        _refuse_changed(folder, folder.plan_name(id), rows, lines.items(len(spec.seeds)), "work items")
        held = still_held(folder, id, shards, solved, retry_failed)
    if held is not None:
        id = lines.id if id is None else _after(id)
        items = WorkItems(lines.cells, lines.places, spec.seeds, held, spec.resources.shard)
        shards = folder.store.write_with(folder.plan_name(id), lambda file: items.write(file, solved))
    assert id is not None
    if held is not None or not _holds_cells(folder, id, lines.cells):
        folder.store.write_table(folder.cells_name(id), to_table(lines.cells))
    return Plan(
        id=id,
        manifest_digest=lines.manifest_digest,
        prior_digest=lines.prior_digest,
        cells=lines.cells,
        measurements=len(lines.places),
        items=sum(shard.count for shard in shards),
        shards=shards,
    )


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


def read_plan(folder: SweepFolder) -> Plan:
    """The plan that a sweep's folder is about."""
    summary = folder.read_summary()
    shards, items = read_shards(folder, summary["plan"])
    cells = folder.cells(summary["plan"])
    _refuse_changed(folder, folder.plan_name(summary["plan"]), items, summary["items"], "work items")
    _refuse_changed(folder, folder.cells_name(summary["plan"]), len(cells), summary["cells"], "cells")
    return Plan(
        id=summary["plan"],
        manifest_digest=summary["manifest_digest"],
        prior_digest=summary["prior_digest"],
        cells=cells,
        measurements=summary["measurements"],
        items=items,
        shards=shards,
    )


def read_shards(folder: SweepFolder, plan: str) -> tuple[list[Shard], int]:
    """The shards of a plan in its order, and the number of its items."""
    shards: list[Shard] = []
    rows, name = 0, folder.plan_name(plan)
    with folder.store.open_source(name) as source, readable(folder.store.url(name)):
        file = ParquetReader(source)
        if not {*ITEM_SCHEMA.names} <= {*file.schema.names}:
            raise ValueError("its columns are not those of a plan")
        if _has_nulls(file.metadata):
            raise ValueError("some of its values are missing")
        for batch in file.batches(["shard"]):
            column = batch.column(0).dictionary_encode()
            codes = column.indices.to_numpy()
            firsts = np.flatnonzero(np.diff(codes, prepend=-1))
            names = column.dictionary.take(pa.array(codes[firsts])).to_pylist()
            counts = np.diff(firsts, append=len(codes)).tolist()
            for shard, first, count in zip(names, firsts.tolist(), counts, strict=True):
                if shards and shards[-1].name == shard:  # it began in the batch before
                    shards[-1] = Shard(shard, shards[-1].first, shards[-1].count + count)
                else:
                    shards.append(Shard(shard, rows + first, count))
            rows += len(codes)
    return shards, rows


def _has_nulls(metadata: Any) -> bool:
    """As the footer counts them; no column is read."""
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    counts = [group.column(place).statistics for group in groups for place in range(group.num_columns)]
    return any(count is not None and count.null_count for count in counts)
