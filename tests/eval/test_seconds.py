"""What an image of a cell takes: by its own calls, whatever its neighbours cost and however its rows were packed."""

import pyarrow as pa
import pytest

from eval.record import SweepRecord
from eval.scores import PROVENANCE, ROW_COSTS, ScoreTable, score_schema
from eval.seconds import cell_seconds

KINDS = {
    "task": pa.string(), "arm": pa.string(), "method": pa.string(),
    "process": pa.string(), "guidance": pa.float64(), "steps": pa.int64(),
}  # fmt: skip
BESIDE = {name: kind for name, kind in (ROW_COSTS | PROVENANCE).items() if name != "seconds"}
PRIOR, REST = 0.1, 0.01
"""Seconds of a call in a full batch; a small one wastes most of its device."""


def row(cell, number, batch, guidance=1.0, steps=10, device="gpu", process="star", method="g2d2"):
    slow = {8: 1, 6: 1.1}.get(batch, 3)
    calls, decoded = steps * (1 if guidance == 1 else 2), steps * 5
    prior = calls * PRIOR * slow
    return {
        "item": f"{cell}{number}", "measurement": f"m{number}", "measurement_digest": "d", "cell": cell, "seed": 0,
        "task": "t", "arm": process, "method": method, "process": process, "guidance": guidance, "steps": steps,
        "psnr": 20.0 + number,
        "seconds": prior + decoded * REST * slow, "prior_seconds": prior, "prior_calls": calls,
        "decoder_calls": decoded, "batch_rows": batch, "device": device,
    }  # fmt: skip


def table(rows):
    schema = score_schema(["psnr", "seconds"], KINDS, BESIDE, free=["process", "guidance"])
    return ScoreTable(pa.Table.from_pylist(rows, schema=schema))


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
    few = next(cell for cell in SweepRecord(scores).cells if cell.id == "few")
    assert few.seconds is not None
    assert (few.comparable_seconds is not None) is usual


def test_tables_without_counts_keep_their_means():
    rows = [{**row("a", n, 8), "seconds": 1.0 + n, "prior_calls": None} for n in range(3)]
    assert cell_seconds(table(rows))["a"].seconds == pytest.approx(2.0)


def test_arms_that_share_batches_share_what_a_call_took():
    """The one was solved in leftovers only, which its arm and free settings do not excuse."""
    rows = [row("star", n, 8) for n in range(16)] + [row("markov", n, 4, process="markov") for n in range(8)]
    found = cell_seconds(table(rows))
    assert found["star"].seconds == found["markov"].seconds
    assert found["markov"].usual


def test_another_method_takes_its_own_time():
    other = [row("other", n, 4, method="dps") for n in range(8)]
    found = cell_seconds(table([row("own", n, 8) for n in range(16)] + other))
    assert found["other"].seconds == pytest.approx(3 * found["own"].seconds)


def test_what_never_calls_its_prior_keeps_its_mean():
    rows = [row("own", n, 8) for n in range(4)]
    rows += [{**row("plain", n, 8, method="wiener"), "seconds": 0.5, "prior_calls": 0} for n in range(4)]
    assert cell_seconds(table(rows))["plain"].seconds == pytest.approx(0.5)
