"""Speed and memory of a night, as ratios to its calibration, and their verdicts.

A machine that is busy or another one changes seconds and calibration alike. How far the calibrations of a night lie
apart, each taken as the median of its devices, bounds what its ratios can say: a loss is called one only if it is
beyond the tolerance wherever between them the truth lies.
"""

from collections.abc import Mapping
from dataclasses import replace
from statistics import median

import numpy as np

from eval.gate import CellPair, Judgement, Tolerance, Verdict
from eval.record import COSTS, CellResult, SweepRecord
from eval.scores import ScoreTable
from pipelines.nightly.records import BaselineRecord, CellRecord, Level, NightRecord, Reading

_WORDS = {"speed": ("slower", "faster"), "memory": ("larger", "smaller")}


def cell_records(record: SweepRecord, readings: list[Reading]) -> list[CellRecord]:
    """Every cell's means with intervals, and its costs in units of the calibration."""
    return [_cell_record(record, cell, readings) for cell in record.cells]


def _cell_record(record: SweepRecord, cell: CellResult, readings: list[Reading]) -> CellRecord:
    levels = {name: Level(mean=mean.mean, low=mean.low, high=mean.high) for name, mean in cell.means.items()}
    seconds, peak = (_median(record.scores, cell.id, name) for name in COSTS)
    if readings and seconds is not None:
        units = _units(readings)
        levels["speed"] = Level(mean=seconds / median(units), low=seconds / max(units), high=seconds / min(units))
    if readings and peak is not None:
        levels["memory"] = Level(mean=peak / min(reading.peak_bytes for reading in readings))
    return CellRecord(cell=cell.id, label=cell.title, levels=levels, seconds=seconds, peak_bytes=peak)


def _units(readings: list[Reading]) -> list[float]:
    """The calibration's seconds in each of its turns: one odd device of many says nothing about the others."""
    turns = sorted({reading.turn for reading in readings})
    return [median(reading.seconds for reading in readings if reading.turn == turn) for turn in turns]


def _median(scores: ScoreTable, cell: str, name: str) -> float | None:
    if name not in scores.metrics:
        return None
    values = scores.values(cell, name)
    return float(np.median(values.values[values.finite])) if values.finite.any() else None


def judge_costs(
    night: NightRecord, baseline: BaselineRecord, allowed: dict[str, float | None], pairs: Mapping[str, CellPair]
) -> list[Judgement]:
    """A verdict for speed and memory of every cell of the baseline; None in `allowed` judges nothing.

    Both are judged on devices that have one job at a time and count their own memory. On a CPU they are only watched:
    equal nights have differed by a tenth in memory, the peak of a whole process, and by 245 % in seconds, where other
    work came and went between the calibrations.
    """
    counted = all(reading.device != "cpu" for reading in (*night.calibration, *baseline.night.calibration))
    return [
        _judge(night, record, pairs.get(record.cell, CellPair(record.cell)), metric, share)
        for metric, share in allowed.items()
        if share is not None and counted
        for record in baseline.night.cells
        if metric in record.levels
    ]


def _judge(night: NightRecord, old: CellRecord, pair: CellPair, metric: str, share: float) -> Judgement:
    before, now = old.levels[metric], night.level(pair.candidate or "", metric)
    tolerance = Tolerance(direction="lower", relative=share)
    empty = Judgement(
        old.cell, old.label, metric, Verdict.MISSING, tolerance, baseline_mean=before.mean, changes=pair.changes
    )
    if now is None:
        return replace(empty, reason=f"the candidate has no {metric} for this cell")
    low, high = _bounds(now, before)
    found = replace(empty, candidate_mean=now.mean, allowed=share * before.mean)
    change = _worded(metric, now.mean / before.mean - 1)
    if low > share:
        return replace(found, verdict=Verdict.REGRESSED, reason=f"{change} than the baseline, calibrated")
    if high < -share:
        return replace(found, verdict=Verdict.IMPROVED, reason=f"{change} than the baseline, calibrated")
    if -share <= low and high <= share:
        return replace(found, verdict=Verdict.UNCHANGED)
    spread = f"{change}, but anything from {_worded(metric, low)} to {_worded(metric, high)} fits the calibrations"
    return replace(found, verdict=Verdict.UNDECIDED, reason=spread)


def _bounds(now: Level, before: Level) -> tuple[float, float]:
    """The smallest and the largest relative growth that the calibrations admit."""
    low = (now.mean if now.low is None else now.low) / (before.mean if before.high is None else before.high)
    high = (now.mean if now.high is None else now.high) / (before.mean if before.low is None else before.low)
    return low - 1, high - 1


def _worded(metric: str, growth: float) -> str:
    more, less = _WORDS[metric]
    return f"{abs(growth):.0%} {more if growth >= 0 else less}"
