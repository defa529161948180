"""Speed and memory in units of the night's own calibration."""

import math

import pyarrow as pa
import pytest
import torch

from eval.gate import CellPair, Verdict
from eval.record import SweepRecord
from eval.scores import ScoreTable, score_schema
from pipelines.nightly.calibrating import read_device
from pipelines.nightly.costs import cell_records, judge_costs
from pipelines.nightly.records import BaselineRecord
from tests.pipelines.nightly.night_cases import level, night, reading


def measured(seconds, readings, peak=300.0):
    rows = [
        {"item": str(i), "measurement": f"m{i}", "cell": "c", "seed": 0, "psnr": 20.0, "seconds": s, "peak_bytes": peak}
        for i, s in enumerate(seconds)
    ]
    table = pa.Table.from_pylist(rows, schema=score_schema(["psnr", "seconds", "peak_bytes"], {}))
    return cell_records(SweepRecord(ScoreTable(table)), readings)[0]


def accepted(record):
    return BaselineRecord(number=1, name="n", accepted="", by="", reason="", scores="", scores_digest="", night=record)


def judged(now, before, metric="speed", share=0.25):
    old = night("a", {metric: before}, calibration=[reading(0.1, device="a GPU")])
    return judge_costs(night("b", {} if now is None else {metric: now}), accepted(old), {metric: share}, {})[0]


def test_a_machine_half_as_fast_changes_no_ratio():
    quick = measured([1.0, 1.2, 9.0], [reading(0.1), reading(0.1)])
    slow = measured([2.0, 2.4, 18.0], [reading(0.2), reading(0.2)])
    assert quick.levels["speed"].mean == pytest.approx(12) == slow.levels["speed"].mean
    assert quick.seconds == 1.2
    assert quick.levels["memory"].mean == 3


def test_uneven_calibrations_widen_the_ratio():
    found = measured([1.0], [reading(0.1, 100), reading(0.2, 400, turn=1)]).levels
    assert (found["speed"].low, found["speed"].high) == pytest.approx((5, 10))
    assert found["memory"].mean == 3  # a worker that did other things before tells too much
    assert "speed" not in measured([math.nan], [reading(0.1)]).levels
    assert "speed" not in measured([1.0], []).levels


def test_one_odd_device_of_many_hides_no_slowdown():
    def calibrations(odd):
        return [reading(odd if device == 3 else 0.1 + turn / 1000, turn=turn) for turn in (0, 1) for device in range(9)]

    quick = measured([1.0], calibrations(odd=0.4)).levels["speed"]
    slow = measured([1.5], calibrations(odd=0.02)).levels["speed"]
    assert (quick.low, quick.high) == pytest.approx((1 / 0.101, 10))
    assert judged(slow, quick).verdict is Verdict.REGRESSED
    assert judged(quick, quick).verdict is Verdict.UNCHANGED


@pytest.mark.parametrize(
    ("now", "before", "verdict"),
    [
        (level(14, 13.5, 14.5), level(10, 9.9, 10.1), Verdict.REGRESSED),
        (level(14, 12, 16), level(10, 9, 11), Verdict.UNDECIDED),
        (level(11, 10.5, 11.5), level(10, 9.9, 10.1), Verdict.UNCHANGED),
        (level(6, 5.9, 6.1), level(10, 9.9, 10.1), Verdict.IMPROVED),
        (level(14), level(10), Verdict.REGRESSED),
        (None, level(10), Verdict.MISSING),
    ],
)
def test_a_loss_must_hold_wherever_the_calibrations_put_it(now, before, verdict):
    assert judged(now, before).verdict is verdict


def test_a_cell_with_other_settings_is_held_against_the_one_it_stands_for():
    old = night("a", {"speed": level(10)}, calibration=[reading(0.1, device="a GPU")])
    new = night("b", {"speed": level(14)})
    new = new.model_copy(update={"cells": [new.cells[0].model_copy(update={"cell": "other"})]})
    pairs = {"c": CellPair("other", ("iterations 6 -> 8",))}
    (found,) = judge_costs(new, accepted(old), {"speed": 0.25}, pairs)
    assert (found.verdict, found.changes) == (Verdict.REGRESSED, ("iterations 6 -> 8",))


def test_reasons_are_in_words():
    assert judged(level(14, 13.5, 14.5), level(10, 9.9, 10.1)).reason == "40% slower than the baseline, calibrated"
    assert "anything from 9% slower to 78% slower" in judged(level(14, 12, 16), level(10, 9, 11)).reason
    assert judged(level(2), level(1), "memory").sentence().startswith("memory of star is regressed: 100% larger")


def test_nothing_is_judged_where_nothing_is_asked_and_no_costs_of_a_shared_cpu():
    def nights(device):
        calibration = [reading(0.1, device=device)]
        old, new = ({"speed": level(mean), "memory": level(mean)} for mean in (1, 2))
        return night("b", new, calibration=calibration), accepted(night("a", old, calibration=calibration))

    asked = {"speed": 0.1, "memory": 0.1}
    assert judge_costs(*nights("cpu"), asked, {}) == []
    assert judge_costs(*nights("a GPU"), dict.fromkeys(asked), {}) == []
    found = judge_costs(*nights("a GPU"), asked, {})
    assert [(one.metric, one.verdict) for one in found] == [(name, Verdict.REGRESSED) for name in asked]


def test_the_workload_is_timed():
    found = read_device(torch.device("cpu"))
    assert 0.001 < found.seconds < 60
    assert found.peak_bytes > 10**7
    assert found.device == "cpu"
