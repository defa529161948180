"""From specification and manifest to work items, written as Parquet before anything runs."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import count, groupby, islice
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from g2d2.priors.digest import prior_digest
from g2d2.priors.locating import locate_prior
from g2d2.version import SOLVER_VERSION
from operators import InputError
from pipelines.cells import Cell, expand_cells, to_table
from pipelines.identity import fingerprint, item_id, solver_seed
from pipelines.layout import SweepFolder
from pipelines.manifest import Manifest
from pipelines.ownership import refuse_others
from pipelines.spec import SweepSpec
from pipelines.storage import readable

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


def make_plan(spec: SweepSpec, folder: SweepFolder, retry_failed: bool = False) -> Plan:
    """The plan of this specification: as it was written before, or written now, item by item.

    It is written anew, under the next number, where another plan of this folder has solved something of it since, or
    failed rows are to be solved again. A plan that is written never changes: somebody may be working by it.
    """
    refuse_others(spec, folder)
    lines = outline(spec, Manifest.open(spec.manifest), locate_prior(spec.prior))
    id, solved = _newest(folder, lines.id), folder.solved_shards()
    held = _finished(folder, solved) if id is None else _held(folder, id, solved, retry_failed)
    if held is not None:
        id = lines.id if id is None else _after(id)
        folder.store.write_table(folder.cells_name(id), to_table(lines.cells))
        _write_items(folder, folder.plan_name(id), _items(spec, lines.cells, lines.places, held, solved))
    assert id is not None
    shards, items = read_shards(folder, id)
    return Plan(id, lines.manifest_digest, lines.prior_digest, lines.cells, len(lines.places), items, shards)


def _newest(folder: SweepFolder, plan: str) -> str | None:
    """The id under which this plan was written last."""
    names = (name.removeprefix("plan/") for name in folder.store.list(f"plan/{plan}"))
    written = [name.removesuffix(".parquet") for name in names if not name.endswith("-cells.parquet")]
    return max(written, key=_number, default=None)


def _number(plan: str) -> int:
    return int(plan.partition(".")[2] or 1)


def _after(plan: str) -> str:
    return f"{plan.partition('.')[0]}.{_number(plan) + 1}"


def _held(folder: SweepFolder, plan: str, solved: set[str], retry_failed: bool) -> dict[str, str] | None:
    """Items that need no solving, with their shard; None where the plan as it is written says so already."""
    own = {shard.name for shard in read_shards(folder, plan)[0]}
    failed = _failed(folder, own & solved) if retry_failed else set()
    elsewhere = solved - own if own - solved else set()
    if not failed and not elsewhere:
        return None
    table = folder.store.read_table(folder.plan_name(plan), columns=["item", "shard"])
    pairs = set(zip(table["item"].to_pylist(), table["shard"].to_pylist(), strict=True))
    if not elsewhere and not pairs & failed:
        return None
    return _finished(folder, elsewhere) | {item: shard for item, shard in pairs - failed if shard in solved}


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
    spec: SweepSpec, cells: list[Cell], places: list[Place], done: dict[str, str], taken: set[str]
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
                yield _columns(_shard_name([row[0] for row in chunk], taken), chunk)
    for name, chunk in committed.items():
        yield _columns(name, chunk)


def _shard_name(items: list[str], taken: set[str]) -> str:
    """The same for the same items, unless they were solved before under it and are to be solved again."""
    names = (fingerprint("shard", items, *([again] if again else [])) for again in count())
    return next(name for name in names if name not in taken)


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


def _finished(folder: SweepFolder, shards: set[str]) -> dict[str, str]:
    """Items that these shards hold without an error, with their shard."""
    return {item: shard for item, shard, error in _outcomes(folder, shards) if error is None}


def _failed(folder: SweepFolder, shards: set[str]) -> set[tuple[str, str]]:
    """Items that these shards hold with an error, and their shard."""
    return {(item, shard) for item, shard, error in _outcomes(folder, shards) if error is not None}


def _outcomes(folder: SweepFolder, shards: set[str]) -> Iterator[tuple[str, str, str | None]]:
    columns = ["item", "error"]
    for shard, table in folder.read_many(sorted(shards), lambda shard: folder.read_solved(shard, columns)):
        for item, error in zip(*(table[name].to_pylist() for name in columns), strict=True):
            yield item, shard, error


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
    rows, name = 0, folder.plan_name(plan)
    with folder.store.open_source(name) as source, readable(folder.store.url(name)):
        file = pq.ParquetFile(source)
        if not {*ITEM_SCHEMA.names} <= {*file.schema_arrow.names}:
            raise ValueError("its columns are not those of a plan")
        for batch in file.iter_batches(columns=["shard"]):
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
