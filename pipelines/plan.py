"""From specification and manifest to work items, written as Parquet before anything runs."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby, islice
from operator import attrgetter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from g2d2.priors.digest import prior_digest
from g2d2.priors.loading import locate_prior
from g2d2.version import SOLVER_VERSION
from operators import InputError
from pipelines.cells import Cell, expand_cells, to_table
from pipelines.identity import fingerprint, item_id, solver_seed
from pipelines.layout import SweepFolder
from pipelines.manifest import Manifest
from pipelines.spec import SweepSpec

ITEM_SCHEMA = pa.schema(
    [
        ("item", pa.string()),
        ("shard", pa.string()),
        ("measurement", pa.string()),
        ("measurement_digest", pa.string()),
        ("manifest_shard", pa.int32()),
        ("manifest_row", pa.int32()),
        ("cell", pa.string()),
        ("cell_index", pa.int32()),
        ("seed", pa.int64()),
        ("solver_seed", pa.int64()),
    ]
)
_ROWS_PER_GROUP = 8192


@dataclass(frozen=True)
class Place:
    """A measurement as the plan sees it: where it lies and what it shares with others, but no pixels."""

    id: str
    digest: str
    seed: int
    task: str
    shard: int
    row: int
    kind: str
    """Operator and shapes: rows of one kind can be solved in one batch."""


@dataclass(frozen=True)
class Shard:
    """Consecutive rows of the plan that are solved and committed together."""

    name: str
    first: int
    count: int


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
    places: list[Place]


def outline(spec: SweepSpec, manifest: Manifest, prior_folder: Path) -> Outline:
    """The cells and measurements of a specification, and the id that follows from them; nothing is written."""
    digest = prior_digest(prior_folder)
    places = select_places(spec, manifest)
    tasks = list(dict.fromkeys(place.task for place in places))
    cells = expand_cells(spec, tasks, prior_folder, digest)
    plan = fingerprint(
        "plan", SOLVER_VERSION, manifest.digest, digest, [[cell.id, cell.recipe] for cell in cells], spec.seeds,
        spec.select.model_dump(),
    )  # fmt: skip
    return Outline(plan, manifest.digest, digest, cells, places)


def make_plan(spec: SweepSpec, folder: SweepFolder) -> Plan:
    """The plan of this specification: read if it was written before, else written now, item by item."""
    lines = outline(spec, Manifest.open(spec.manifest), locate_prior(spec.prior))
    name = folder.plan_name(lines.id)
    if not folder.store.exists(name):
        done = _committed_items(folder)
        folder.store.write_table(folder.cells_name(lines.id), to_table(lines.cells))
        _write_items(folder, name, _items(spec, lines.cells, lines.places, done))
    shards, items = read_shards(folder, lines.id)
    return Plan(lines.id, lines.manifest_digest, lines.prior_digest, lines.cells, len(lines.places), items, shards)


def read_plan(folder: SweepFolder) -> Plan:
    """The plan that a sweep's folder is about."""
    summary = folder.read_summary()
    shards, items = read_shards(folder, summary["plan"])
    return Plan(
        id=summary["plan"],
        manifest_digest=summary["manifest_digest"],
        prior_digest=summary["prior_digest"],
        cells=folder.cells(summary["plan"]),
        measurements=summary["measurements"],
        items=items,
        shards=shards,
    )


def select_places(spec: SweepSpec, manifest: Manifest) -> list[Place]:
    """The measurements that take part, in the manifest's order."""
    unknown = sorted(set(spec.select.tasks or ()) - set(manifest.tasks))
    if unknown:
        raise InputError(
            f"select.tasks: {', '.join(unknown)} is not in the manifest, which has {', '.join(manifest.tasks)}."
        )
    wanted = spec.select.tasks or manifest.tasks
    taken = dict.fromkeys(wanted, 0)
    skip, limit = spec.select.skip, spec.select.limit or math.inf
    places: list[Place] = []
    for batch in manifest.index():
        for row in batch.to_pylist():
            task = row["task"]
            if task not in taken:
                continue
            if skip <= taken[task] < skip + limit:
                places.append(_place(row))
            taken[task] += 1
    if not places:
        raise InputError(f"manifest {spec.manifest}: it has no measurements for this selection.")
    return places


def _place(row: dict[str, Any]) -> Place:
    kind = f"{row['operator']}/{row['image_shape']}/{row['y_shape']}"
    return Place(row["id"], row["digest"], row["seed"], row["task"], row["shard"], row["row"], kind)


def _items(
    spec: SweepSpec, cells: list[Cell], places: list[Place], done: dict[str, str]
) -> Iterator[dict[str, list[Any]]]:
    """Shards of items: rows of a shard can share a batch, and all cells of a measurement are neighbours."""
    by_task: dict[str, dict[tuple[Any, ...], list[Cell]]] = {}
    for cell in cells:
        by_task.setdefault(cell.task, {}).setdefault(cell.batch_key(), []).append(cell)
    keys = {key for groups in by_task.values() for key in groups}
    committed: dict[str, list[list[Any]]] = {}
    for key in sorted(keys, key=repr):
        for _, kind in groupby(sorted(places, key=attrgetter("kind")), key=attrgetter("kind")):
            rows = (row for place in kind for row in _rows_of(place, by_task[place.task].get(key, ()), spec.seeds))
            fresh = _divert(rows, done, committed)
            while chunk := list(islice(fresh, spec.resources.shard)):
                yield _columns(fingerprint("shard", [row[0] for row in chunk]), chunk)
    for name, chunk in committed.items():
        yield _columns(name, chunk)


def _rows_of(place: Place, cells: Iterable[Cell], seeds: list[int]) -> Iterator[list[Any]]:
    for seed in seeds:
        draws = solver_seed(place.seed, seed)
        for cell in cells:
            item = item_id(place.digest, cell.recipe, seed)
            yield [item, place.id, place.digest, place.shard, place.row, cell.id, cell.index, seed, draws]


def _divert(
    rows: Iterable[list[Any]], done: dict[str, str], committed: dict[str, list[list[Any]]]
) -> Iterator[list[Any]]:
    """Set aside what an earlier plan has solved, under the shard that holds it."""
    for row in rows:
        shard = done.get(row[0])
        if shard is None:
            yield row
        else:
            committed.setdefault(shard, []).append(row)


def _columns(shard: str, rows: list[list[Any]]) -> dict[str, list[Any]]:
    names = [name for name in ITEM_SCHEMA.names if name != "shard"]
    columns: dict[str, list[Any]] = {
        name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)
    }
    columns["shard"] = [shard] * len(rows)
    return columns


def _committed_items(folder: SweepFolder) -> dict[str, str]:
    """Items that earlier plans of this folder have solved, with their shard; errors are tried again."""
    done: dict[str, str] = {}
    for shard in sorted(folder.solved_shards()):
        table = folder.read_solved(shard, columns=["item", "error"])
        for item, error in zip(table["item"].to_pylist(), table["error"].to_pylist(), strict=True):
            if error is None:
                done[item] = shard
    return done


def _write_items(folder: SweepFolder, name: str, shards: Iterator[dict[str, list[Any]]]) -> None:
    """Row group by row group into one compressed buffer; the plan appears whole or not at all."""
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(sink, ITEM_SCHEMA, compression="zstd") as writer:
        pending: list[pa.Table] = []
        for columns in shards:
            pending.append(pa.table({field: columns[field] for field in ITEM_SCHEMA.names}, schema=ITEM_SCHEMA))
            if sum(map(len, pending)) >= _ROWS_PER_GROUP:
                writer.write_table(pa.concat_tables(pending))
                pending = []
        if pending:
            writer.write_table(pa.concat_tables(pending))
    folder.store.write_bytes(name, sink.getvalue().to_pybytes())


def read_shards(folder: SweepFolder, plan: str) -> tuple[list[Shard], int]:
    """The shards of a plan in its order, and the number of its items."""
    shards: list[Shard] = []
    first = 0
    file = pq.ParquetFile(pa.BufferReader(folder.store.read_bytes(folder.plan_name(plan))))
    for batch in file.iter_batches(columns=["shard"]):
        for shard, rows in groupby(batch.column(0).to_pylist()):
            count = len(list(rows))
            if shards and shards[-1].name == shard:
                shards[-1] = Shard(shard, shards[-1].first, shards[-1].count + count)
            else:
                shards.append(Shard(shard, first, count))
            first += count
    return shards, first
