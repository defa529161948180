"""What an image of a cell takes: by its own calls, whatever its neighbours cost and however its rows were packed."""

import pyarrow as pa
import pytest

from eval.report.results import Results
from eval.scores import PROVENANCE, ROW_COSTS, ScoreTable, score_schema
from eval.seconds import cell_seconds

KINDS = {"task": pa.string(), "process": pa.string(), "guidance": pa.float64(), "steps": pa.int64()}
BESIDE = {name: kind for name, kind in (ROW_COSTS | PROVENANCE).items() if name != "seconds"}
PRIOR, REST = 0.1, 0.01
"""Seconds of a call in a full batch; a small one wastes most of its device."""


def row(cell, number, batch, guidance=1.0, steps=10, device="gpu"):
    slow = {8: 1, 6: 1.1}.get(batch, 3)
    calls, decoded = steps * (1 if guidance == 1 else 2), steps * 5
    prior = calls * PRIOR * slow
    return {
        "item": f"{cell}{number}", "measurement": f"m{number}", "measurement_digest": "d", "cell": cell, "seed": 0,
        "task": "t", "process": "star", "guidance": guidance, "steps": steps, "psnr": 20.0 + number,
        "seconds": prior + decoded * REST * slow, "prior_seconds": prior, "prior_calls": calls,
        "decoder_calls": decoded, "batch_rows": batch, "device": device,
    }  # fmt: skip


def table(rows):
    return ScoreTable(pa.Table.from_pylist(rows, schema=score_schema(["psnr", "seconds"], KINDS, BESIDE)))


def test_packing_is_not_taken_for_cost():
    """Batches of 8 in shards of 12: some cells lie in the leftovers of 4 every time, and cost what the others do."""
    rows = [row("full", n, 8) for n in range(16)] + [row("leftover", n, 4) for n in range(8)]
    found = cell_seconds(table(rows))
    assert found["full"].seconds == found["leftover"].seconds == pytest.approx(10 * PRIOR + 50 * REST)
    assert found["leftover"].usual


def test_a_cell_pays_for_its_own_calls():
    rows = [row("one", n, 8) for n in range(8)] + [row("two", n, 8, guidance=3.0) for n in range(8)]
    found = cell_seconds(table(rows))
    assert found["two"].seconds - found["one"].seconds == pytest.approx(10 * PRIOR)


@pytest.mark.parametrize(("batch", "device", "usual"), [(6, "gpu", True), (2, "gpu", False), (8, "other", False)])
def test_what_was_only_measured_otherwise_is_not_held_against_the_rest(batch, device, usual):
    """Other steps never share a batch with the rest: what was solved only in small batches cannot be corrected."""
    rows = [row("many", n, 8) for n in range(16)]
    rows += [row("few", n, batch, steps=20, device=device) for n in range(2)]
    scores = table(rows)
    assert cell_seconds(scores)["few"].usual is usual
    few = next(cell for cell in Results(scores).cells if cell.id == "few")
    assert few.seconds is not None
    assert (few.comparable_seconds is not None) is usual


def test_tables_without_counts_keep_their_means():
    rows = [{**row("a", n, 8), "seconds": 1.0 + n, "prior_calls": None} for n in range(3)]
    assert cell_seconds(table(rows))["a"].seconds == pytest.approx(2.0)
