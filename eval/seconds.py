"""Seconds per image of every cell, free of what its neighbours in a batch cost and of how rows were packed.

Rows that can share a batch take the same time per call of a network, so their cells differ by their counted calls
alone. What a call took is the median over all such rows in batches of the task's usual size, whichever cells those
rows belong to: a cell whose rows lay in small leftover batches is not slow for it.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from math import log
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from eval.scores import ScoreTable

_CALLS = ("prior_calls", "decoder_calls")
_COUNTED = ("prior_seconds", *_CALLS, "batch_rows", "device")
_WHERE = ["group", "device", "batch"]

Group = tuple[Any, ...]
"""What rows of a batch share: the task first."""


class Where(NamedTuple):
    """A device, and the rows of a batch on it."""

    device: int
    """Its place among the devices."""
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
    rows = scores.rows
    timed = np.isfinite(rows.numbers["seconds"])
    table = pa.table({"cell": rows.repeated["cell"].places[timed], "seconds": rows.numbers["seconds"][timed]})
    means = table.group_by("cell", use_threads=False).aggregate([("seconds", "mean")])
    names = [rows.repeated["cell"].values[place] for place in means["cell"].to_pylist()]
    plain = dict(zip(names, means["seconds_mean"].to_pylist(), strict=True))
    counted = {*rows.numbers, *rows.repeated} >= set(_COUNTED)
    modelled = _modelled(scores, timed) if counted else {}
    return {cell: CellSeconds(seconds) for cell, seconds in plain.items()} | modelled


def _modelled(scores: ScoreTable, timed: NDArray[np.bool_]) -> dict[str, CellSeconds]:
    rows, devices = scores.rows, scores.rows.repeated["device"]
    timed = timed & devices.valid & ~np.isnan(rows.column("prior_seconds")) & ~np.isnan(rows.column("batch_rows"))
    for name in _CALLS:  # what was never called has no seconds per call
        timed &= rows.column(name) > 0
    groups = {cell: _group(scores, cell) for cell, own in rows.cells.items() if timed[own].any()}
    if not groups:
        return {}
    table = _by_group(scores, timed, groups)
    usual, costs = _usual(table, groups), _costs(table, groups)
    found = {}
    for cell, group in groups.items():
        here = rows.cells[cell]
        calls = [float(rows.column(name, here)[timed[here]].mean()) for name in _CALLS]  # rows that rest make fewer
        places = [place for some, place in costs if some == group]
        place = min(places, key=lambda place: _distance(place, usual[group[0]]))
        prior, rest = costs[group, place]
        found[cell] = CellSeconds(calls[0] * prior + calls[1] * rest, usual=_like(place, usual[group[0]]))
    return found


def _group(scores: ScoreTable, cell: str) -> Group:
    """The task, then method, prior and all settings that rows of a batch share; arms may lie in one batch."""
    settings, own = scores.cell_parameters(cell), {"task", "arm", *scores.free}
    return settings.get("task"), *(value for name, value in settings.items() if name not in own)


def _by_group(scores: ScoreTable, timed: NDArray[np.bool_], groups: Mapping[str, Group]) -> pa.Table:
    """Timed rows by number of their group, place of their device and rows of their batch, with seconds of a call."""
    rows, cells, order = scores.rows, scores.rows.repeated["cell"], list(dict.fromkeys(groups.values()))
    numbers = np.array([order.index(groups[cell]) if cell in groups else -1 for cell in cells.values], dtype=np.int32)
    prior, rest = rows.column("prior_seconds", timed), rows.column("seconds", timed)
    rest -= prior
    prior /= rows.column("prior_calls", timed)
    rest /= rows.column("decoder_calls", timed)
    return pa.table(
        {
            "group": numbers[cells.places[timed]],
            "device": rows.repeated["device"].places[timed],
            "batch": rows.column("batch_rows", timed).astype(np.int32),
            "prior": prior,
            "rest": rest,
        }
    )


def _usual(table: pa.Table, groups: Mapping[str, Group]) -> dict[Any, Where]:
    """Where most rows of each task were solved; of equals the larger batch."""
    order, rows = list(dict.fromkeys(groups.values())), dict[Any, Counter[Where]]()
    counts = table.group_by(_WHERE, use_threads=False).aggregate([("rest", "count")])
    for row in counts.to_pylist():
        task = order[row["group"]][0]
        rows.setdefault(task, Counter())[Where(row["device"], row["batch"])] += row["rest_count"]
    return {task: max(found, key=lambda place: (found[place], place.batch)) for task, found in rows.items()}


def _costs(table: pa.Table, groups: Mapping[str, Group]) -> dict[tuple[Group, Where], tuple[float, float]]:
    """By group and place, the median seconds of a call of the prior, and of all else per call of the decoder."""
    order = list(dict.fromkeys(groups.values()))
    medians = table.group_by(_WHERE, use_threads=False).aggregate(
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
