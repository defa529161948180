"""Seconds per image of every cell, free of what its neighbours in a batch cost and of how rows were packed.

Rows that can share a batch take the same time per call of a network, so their cells differ by their counted calls
alone. What a call took is the median over all such rows in batches of the task's usual size, whichever cells those
rows belong to: a cell whose rows lay in small leftover batches is not slow for it.
"""

from collections import Counter
from dataclasses import dataclass
from math import log
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from eval.scores import ScoreTable

_COUNTED = ("prior_seconds", "prior_calls", "decoder_calls", "batch_rows", "device")


class Where(NamedTuple):
    """A device, and the rows of a batch on it."""

    device: str
    batch: int


@dataclass(frozen=True)
class CellSeconds:
    """What an image of a cell takes."""

    seconds: float
    usual: bool = True
    """It was measured in batches of about the usual size on the usual device: it can be held against other cells'."""


def cell_seconds(scores: ScoreTable) -> dict[str, CellSeconds]:
    """By cell; plain means where nobody counted calls, and nothing for a cell without any seconds."""
    if "seconds" not in scores.metrics:
        return {}
    timed = scores.table.filter(pc.is_finite(scores.table["seconds"]))
    means = timed.group_by("cell", use_threads=False).aggregate([("seconds", "mean")])
    plain = dict(zip(means["cell"].to_pylist(), means["seconds_mean"].to_pylist(), strict=True))
    modelled = _modelled(scores, timed) if set(_COUNTED) <= set(timed.column_names) else {}
    return {cell: CellSeconds(seconds) for cell, seconds in plain.items()} | modelled


def _modelled(scores: ScoreTable, timed: pa.Table) -> dict[str, CellSeconds]:
    for name in _COUNTED:
        timed = timed.filter(pc.is_valid(timed[name]))
    for name in ("prior_calls", "decoder_calls"):  # what was never called has no seconds per call
        timed = timed.filter(pc.greater(timed[name], 0))
    if not len(timed):
        return {}
    groups = {cell: _group(scores, cell) for cell in pc.unique(timed["cell"]).to_pylist()}
    usual = _usual(timed, groups)
    costs = _costs(timed, groups)
    calls = timed.group_by("cell", use_threads=False).aggregate([("prior_calls", "min"), ("decoder_calls", "min")])
    found = {}
    for row in calls.to_pylist():
        group = groups[row["cell"]]
        places = [place for some, place in costs if some == group]
        place = min(places, key=lambda place: _distance(place, usual[group[0]]))
        prior, rest = costs[group, place]
        seconds = row["prior_calls_min"] * prior + row["decoder_calls_min"] * rest
        found[row["cell"]] = CellSeconds(seconds, usual=_like(place, usual[group[0]]))
    return found


def _group(scores: ScoreTable, cell: str) -> tuple[Any, ...]:
    """The task, then method, prior and all settings that rows of a batch share; arms may lie in one batch."""
    settings, own = scores.cell_parameters(cell), {"task", "arm", *scores.free}
    return settings.get("task"), *(value for name, value in settings.items() if name not in own)


def _usual(timed: pa.Table, groups: dict[str, tuple[Any, ...]]) -> dict[Any, Where]:
    """Where most rows of each task were solved; of equals the larger batch."""
    rows: dict[Any, Counter[Where]] = {}
    counts = timed.group_by(["cell", "device", "batch_rows"], use_threads=False).aggregate([("seconds", "count")])
    for row in counts.to_pylist():
        task = groups[row["cell"]][0]
        rows.setdefault(task, Counter())[Where(row["device"], row["batch_rows"])] += row["seconds_count"]
    return {task: max(found, key=lambda place: (found[place], place.batch)) for task, found in rows.items()}


def _costs(timed: pa.Table, groups: dict[str, tuple[Any, ...]]) -> dict[tuple[Any, Where], tuple[float, float]]:
    """By group and place, the median seconds of a call of the prior, and of all else per call of the decoder."""
    order = list(dict.fromkeys(groups.values()))
    number = {cell: order.index(group) for cell, group in groups.items()}
    rest = pc.subtract(timed["seconds"], timed["prior_seconds"])
    table = pa.table(
        {
            "group": [number[cell] for cell in timed["cell"].to_pylist()],
            "device": timed["device"],
            "batch": timed["batch_rows"],
            "prior": pc.divide(timed["prior_seconds"], timed["prior_calls"].cast(pa.float64())),
            "rest": pc.divide(rest, timed["decoder_calls"].cast(pa.float64())),
        }
    )
    medians = table.group_by(["group", "device", "batch"], use_threads=False).aggregate(
        [("prior", "approximate_median"), ("rest", "approximate_median")]
    )
    return {
        (order[row["group"]], Where(row["device"], row["batch"])): (
            row["prior_approximate_median"], row["rest_approximate_median"],
        )
        for row in medians.to_pylist()
    }  # fmt: skip


def _distance(place: Where, usual: Where) -> tuple[bool, float, int]:
    return place.device != usual.device, abs(log(place.batch / usual.batch)), -place.batch


def _like(place: Where, usual: Where) -> bool:
    """Below half the usual size a batch wastes too much of its device to say what a cell costs."""
    return place.device == usual.device and 2 * place.batch >= usual.batch
