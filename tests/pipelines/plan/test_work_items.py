"""Plans made by columns are those of a plain loop over measurements, seeds and cells, row for row."""

import io
from hashlib import blake2b
from itertools import groupby

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from g2d2.methods.g2d2_settings import G2D2Settings
from pipelines.plan import work_items
from pipelines.plan.cells import Cell
from pipelines.plan.item_ids import fingerprint, item_id, solver_seed
from pipelines.plan.work_items import Held, Shard, WorkItems, raw_ids
from pipelines.schemas import ITEM_SCHEMA

NOTHING = Held(np.zeros(0, "S16"), np.zeros(0, np.int64), [])


def cells_of(tasks, points):
    """Cells of two numbers of steps, which cannot share a batch."""
    base, made = G2D2Settings().model_dump(), []
    for task in tasks:
        for point in range(points):
            settings = base | {"steps": 4 + point % 2, "eta_kl": 10.0**-point}
            recipe = fingerprint("recipe", settings)
            made.append(Cell(len(made), fingerprint("cell", task, point), recipe, task, "star", "g2d2", "p", settings))
    return made


def places_of(tasks, kinds, count):
    """Measurements that change task and kind all the time."""
    rows = [
        {
            "id": f"{tasks[row % len(tasks)]}/{row}",
            "digest": fingerprint("digest", row),
            "seed": 7 * row,
            "task": tasks[row % len(tasks)],
            "shard": row // 5,
            "row": row % 5,
            "kind": kinds[row * row % len(kinds)],
        }
        for row in range(count)
    ]
    schema = pa.schema(
        [(name, pa.int64() if name == "seed" else pa.int32() if name in ("shard", "row") else pa.string())
         for name in rows[0]]
    )  # fmt: skip
    return pa.Table.from_pylist(rows, schema=schema)


def planned_row_by_row(cells, places, seeds, held, shard, taken):
    """The plan as it is defined: a batch needs one kind and one set of batch settings; what is held comes last."""
    rows, committed, places = [], {}, places.to_pylist()
    for key in sorted({cell.batch_key() for cell in cells}, key=repr):
        for _, kind in groupby(sorted(places, key=lambda place: place["kind"]), key=lambda place: place["kind"]):
            fresh = []
            for place in kind:
                for seed in seeds:
                    for cell in (cell for cell in cells if cell.task == place["task"] and cell.batch_key() == key):
                        row = {
                            "item": item_id(place["digest"], cell.recipe, seed), "measurement": place["id"],
                            "measurement_digest": place["digest"], "manifest_shard": place["shard"],
                            "manifest_row": place["row"], "cell": cell.id, "cell_index": cell.index, "seed": seed,
                            "solver_seed": solver_seed(place["seed"], seed),
                        }  # fmt: skip
                        (committed.setdefault(held[row["item"]], []) if row["item"] in held else fresh).append(row)
            for start in range(0, len(fresh), shard):
                part = fresh[start : start + shard]
                names = [row["item"] for row in part]
                name = fingerprint("shard", names)
                name = fingerprint("shard", names, 1) if name in taken else name
                rows += [row | {"shard": name} for row in part]
    return rows + [row | {"shard": name} for name, part in committed.items() for row in part]


def written(cells, places, seeds, held, shard, taken):
    file = io.BytesIO()
    shards = WorkItems(cells, places, seeds, held, shard).write(file, taken)
    return shards, pq.read_table(file)


@pytest.mark.parametrize("group", [1, 7, 65_536])
@pytest.mark.parametrize(("tasks", "kinds"), [(["a"], ["k"]), (["b", "a"], ["k", "j", "k2"]), (["a", "c", "b"], ["k"])])
@pytest.mark.parametrize("seeds", [[0], [3, 0, -1]])
@pytest.mark.parametrize("part", [0.0, 0.4, 1.0])
def test_columns_give_the_rows_of_a_plain_loop(group, tasks, kinds, seeds, part, monkeypatch):
    monkeypatch.setattr(work_items, "ROWS_PER_GROUP", group)
    cells, places = cells_of(tasks, points=3), places_of(tasks, kinds, count=11)
    every = planned_row_by_row(cells, places, seeds, {}, 4, set())
    shuffled = np.random.default_rng(0).permutation(len(every))[: round(part * len(every))]
    held = {every[row]["item"]: f"solved{row % 5}" for row in shuffled}
    names = sorted(set(held.values()))
    columns = Held(
        raw_ids(pa.array(held, pa.string())), np.array([names.index(name) for name in held.values()], int), names
    )
    taken = {every[0]["shard"]}
    expected = planned_row_by_row(cells, places, seeds, held, 4, taken)
    shards, table = written(cells, places, seeds, columns, 4, taken)
    assert table.schema.equals(ITEM_SCHEMA)
    assert table.to_pylist() == [{name: row[name] for name in ITEM_SCHEMA.names} for row in expected]
    runs = [(name, len(list(rows))) for name, rows in groupby(expected, key=lambda row: row["shard"])]
    firsts = np.cumsum([0, *(count for _, count in runs)]).tolist()
    assert shards == [Shard(name, first, count) for (name, count), first in zip(runs, firsts, strict=False)]


def test_ids_stay_what_they_were():
    """Results that are committed are found by them."""
    digest, recipe = "0123456789abcdef" * 2, "fedcba9876543210" * 2
    assert item_id(digest, recipe, -3) == blake2b(f"{digest}{recipe}-3".encode(), digest_size=16).hexdigest()
    assert item_id(digest, recipe, 0) == "d7514fd4e73810b7364d37d08c2995ce"


def test_a_large_grid_makes_no_object_per_row():
    import tracemalloc

    cells, places = cells_of(["a"], points=2), places_of(["a"], ["k"], count=30_000)
    work = WorkItems(cells, places, [0, 1], NOTHING, shard=1000)
    tracemalloc.start()
    with open("/dev/null", "wb") as sink:
        shards = work.write(sink, set())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert sum(shard.count for shard in shards) == 120_000
    assert peak < 40e6
