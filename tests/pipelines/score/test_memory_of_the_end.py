"""What a sweep ends with stays small: bytes that another work item costs the driver, counted by the allocators."""

import tracemalloc
from functools import partial

import numpy as np
import pyarrow as pa
import pytest

from bench.made_up import read_spec, write_scores
from eval.record import SweepRecord
from eval.scores import ScoreTable, score_schema
from pipelines.plan.planning import make_plan
from pipelines.score.collecting import collect_scores
from pipelines.score.scorings import known_scorings
from pipelines.storage.sweep_folder import SweepFolder

PICTURES = 40
POOLS = []
"""They live as long as anything that was made in them."""
SETTINGS = {"task": pa.string(), "arm": pa.string(), "eta_kl": pa.float64()}


def peak_bytes(call):
    """The most that Python, numpy and Arrow held for a call together, above what they held before."""
    pool = pa.proxy_memory_pool(pa.default_memory_pool())
    POOLS.append(pool)
    pa.set_memory_pool(pool)
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1] + pool.max_memory()
    finally:
        tracemalloc.stop()
        pa.set_memory_pool(pa.default_memory_pool())


def another_item(call, few, many):
    """Bytes at the peak that an item more costs, between two sizes that have the same constant parts."""
    call(few)  # what is made once
    return (peak_bytes(partial(call, many)) - peak_bytes(partial(call, few))) / (many - few)


def scored_cell(cell, random):
    schema = score_schema(["psnr"], SETTINGS)
    columns = {
        "item": [f"{random.bytes(16).hex()}" for _ in range(PICTURES)],
        "measurement": [f"task/{row:06d}" for row in range(PICTURES)],
        "measurement_digest": [f"{row:032x}" for row in range(PICTURES)],
        "cell": [f"{cell:032x}"] * PICTURES, "seed": [0] * PICTURES, "error": [None] * PICTURES,
        "task": ["task"] * PICTURES, "arm": [("star", "markov")[cell % 2]] * PICTURES, "eta_kl": [cell / 7] * PICTURES,
        "psnr": random.normal(30, 1, PICTURES),
    }  # fmt: skip
    return pa.table(columns, schema=schema)


def record_of(items):
    """Means, ranks and ties from cells that come one by one; contrasts draw signs for each cell, whatever its rows."""
    random = np.random.default_rng(0)
    parts = (scored_cell(cell, random) for cell in range(items // PICTURES))
    scores = ScoreTable.gathered(score_schema(["psnr"], SETTINGS), parts, pytest.fail)
    record = SweepRecord(scores, compare="markov")
    assert len(record.cells) == items // PICTURES
    assert len(record.best) == 1


def test_a_record_holds_a_few_numbers_of_an_item():
    """Rows as Python objects would be 300 bytes each, and a table with its ids and settings as much again."""
    assert another_item(record_of, 20 * PICTURES, 120 * PICTURES) < 150


def test_the_table_is_written_as_it_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr("pipelines.score.collecting._ROWS", 128)
    monkeypatch.setattr("pipelines.plan.work_items.ROWS_PER_GROUP", 128)
    sweeps = {}
    for cells in (16, 96):
        place = tmp_path / str(cells)
        place.mkdir()
        plan = write_scores(place, PICTURES, cells, shard=64)
        sweeps[plan.items] = SweepFolder(read_spec(place).output), place

    def collect(items):
        folder, place = sweeps[items]
        collected = collect_scores(folder, make_plan(read_spec(place), folder), known_scorings(folder))
        assert (collected.items, len(collected.scores)) == (items, items)

    few, many = sweeps
    assert another_item(collect, few, many) < 300
    folder, place = sweeps[many]
    plan = make_plan(read_spec(place), folder)
    (name,) = folder.store.list("results/")
    assert folder.store.read_table(name)["item"].to_pylist() == plan.rows.ids.to_pylist()
