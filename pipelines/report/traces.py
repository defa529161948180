"""Kept traces as curves, by the names that a method gave them, and snapshots, of the cells that a page shows."""

import io
from typing import Any

import numpy as np
from torch import from_numpy

from eval.record import CellResult, SweepRecord
from eval.report.content import TraceCurves
from eval.report.shown_cells import traced_cells
from operators.pictures import spread_map
from pipelines.report.picture_reader import PICTURE_BYTES, PictureReader

ROWS = 16
"""Measurements of a cell whose traces are averaged."""
SNAPSHOTS = 12
"""Levels of t at which a cell's snapshots are shown."""
_LEVELS, _ITERATIONS, _SPREAD = "levels", "iterations", "spread"
_SNAPSHOTS = ("snapshot_", "prior_sample_")
"""What the names of snapshots begin with, now and in older sweeps; the level follows."""

Arrays = dict[str, Any]


def read_traces(
    reader: PictureReader, record: SweepRecord, images: dict[str, bytes], budget: int = PICTURE_BYTES
) -> list[TraceCurves]:
    """One entry per cell that has traces; snapshots join the page's pictures, within the budget of all."""
    traces = []
    cells = [cell for task in record.tasks for cell in traced_cells(record, task)]
    for waiting, cell in zip(range(len(cells), 0, -1), cells, strict=True):
        share = (budget - sum(map(len, images.values()))) // waiting
        curves = _curves(reader, record, cell, images, share)
        if curves is not None:
            traces.append(curves)
    return traces


def _curves(
    reader: PictureReader, record: SweepRecord, cell: CellResult, images: dict[str, bytes], budget: int
) -> TraceCurves | None:
    column = record.values(cell, record.scores.metrics[0])
    good = ~column.failed
    if not good.any():
        return None
    seed = int(column.seeds[good].min())
    names = [str(name) for name in column.measurements[good & (column.seeds == seed)][:ROWS]]
    traces: dict[str, Arrays] = {}
    traced = []
    for item in reader.items_of(cell.id, names, seed):
        solved = reader.solved(item["shard"], item["item"])
        if solved.get("trace") is not None:
            traces[item["measurement"]] = load_trace(solved["trace"], snapshots=not traces)
            traced.append(item | {"signal": solved["signal"]})
    if not traces:
        return None
    first, one = next(iter(traces.items()))
    kept = {level: name for name in one if (level := _level(name)) is not None}
    if kept and f"truth/{first}" not in images:
        measured = reader.measured_images(first, traced[0])
        budget -= sum(map(len, measured.values()))
        images |= measured if budget >= 0 else {}
    levels, signal = evenly(sorted(kept, reverse=True)), traced[0]["signal"]
    maps = _maps(reader, one, traced[0], first, signal)
    if sum(map(len, maps.values())) > budget:
        maps = {}
    budget -= sum(map(len, maps.values()))
    shown = _within({level: reader.snapshot(one[kept[level]], signal) for level in levels}, budget)
    keys = {level: f"snapshot/{cell.id}/{first}/{level}" for level in shown}
    images |= {keys[level]: content for level, content in shown.items()}
    beside = {name: f"trace/{cell.id}/{first}/{name}" for name in maps}
    images |= {beside[name]: content for name, content in maps.items()}
    return TraceCurves(
        cell=cell.id,
        levels=one[_LEVELS].tolist() if _LEVELS in one else [],
        iterations=one[_ITERATIONS].tolist() if _ITERATIONS in one else [],
        curves={name: _mean(traces, name) for name, stored in one.items() if _is_curve(name, stored)},
        rows=len(traces),
        snapshots=list(keys.items()),
        snapshots_kept=len(kept),
        beside=list(beside.items()),
        measurement=first,
    )


def _maps(reader: PictureReader, trace: Arrays, item: dict[str, Any], name: str, signal: str) -> dict[str, bytes]:
    """The reconstruction and where its samples differ, if it is the mean of several; of pictures alone."""
    picture = reader.picture(item, name) if _SPREAD in trace and signal == "image" else None
    if picture is None:
        return {}
    return {
        "reconstruction": picture,
        "spread": reader.snapshot(spread_map(from_numpy(trace[_SPREAD])).numpy(), signal),
    }


def _is_curve(name: str, stored: Any) -> bool:
    """Several numbers in a row; what a trace counts once is none."""
    return name not in (_LEVELS, _ITERATIONS, _SPREAD) and _level(name) is None and stored.ndim > 0


def _level(name: str) -> int | None:
    """The level of t in a snapshot's name; None where it is a curve's."""
    return next((int(name.removeprefix(start)) for start in _SNAPSHOTS if name.startswith(start)), None)


def _within(pictures: dict[int, bytes], budget: int) -> dict[int, bytes]:
    """As many of them, evenly spread, as fit into the budget."""
    for count in range(len(pictures), 0, -1):
        chosen = {level: pictures[level] for level in evenly(list(pictures), count)}
        if sum(map(len, chosen.values())) <= budget:
            return chosen
    return {}


def evenly(levels: list[int], count: int = SNAPSHOTS) -> list[int]:
    """At most `count` of them, the ends included."""
    if len(levels) <= count:
        return levels
    return [levels[round(place)] for place in np.linspace(0, len(levels) - 1, count)] if count > 1 else levels[-1:]


def load_trace(content: bytes, snapshots: bool = True) -> Arrays:
    """A stored `.npz`, without its snapshots where nobody looks at them; nothing is unpickled."""
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files if snapshots or _level(name) is None}


def _mean(traces: dict[str, Arrays], name: str) -> list[float]:
    """Over the rows that have the curve, as far as the shortest goes."""
    rows = [trace[name].ravel().astype(np.float64) for trace in traces.values() if name in trace]
    length = min(map(len, rows))
    return [float(value) for value in np.stack([row[:length] for row in rows]).mean(axis=0)]
