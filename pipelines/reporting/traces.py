"""Kept traces as curves: losses, re-masked tokens, the prior's own guesses, of the cells that a page shows."""

import io
from typing import Any

import numpy as np
from torch import from_numpy

from eval.report.choosing import chosen_cells
from eval.report.content import TraceCurves
from eval.report.findings import best_of
from eval.report.results import CellResult, Results
from eval.report.thumbnails import thumbnail
from pipelines.images import encode_png, to_picture
from pipelines.reporting.pictures import PictureReader

ROWS = 16
"""Measurements of a cell whose traces are averaged."""
_SAMPLE = "prior_sample_"

Arrays = dict[str, Any]


def read_traces(reader: PictureReader, results: Results, images: dict[str, bytes]) -> list[TraceCurves]:
    """One entry per cell that has traces; the prior's guesses join the page's pictures."""
    found = []
    for task in results.tasks:
        for cell in _shown(results, task):
            curves = _curves(reader, results, cell, images)
            if curves is not None:
                found.append(curves)
    return found


def _shown(results: Results, task: str) -> list[CellResult]:
    """The best cell of each process by the first metric that judges: star and Markov side by side."""
    cells = results.of_task(task)
    if not results.judged:
        return chosen_cells(results, task)
    processes = dict.fromkeys(cell.process for cell in cells)
    best = [best_of([cell for cell in cells if cell.process == process], results.judged[0]) for process in processes]
    return [cell for cell in best if cell is not None]


def _curves(reader: PictureReader, results: Results, cell: CellResult, images: dict[str, bytes]) -> TraceCurves | None:
    column = results.values(cell, results.scores.metrics[0])
    good = ~column.failed
    if not good.any():
        return None
    seed = int(column.seeds[good].min())
    names = [str(name) for name in column.measurements[good & (column.seeds == seed)][:ROWS]]
    traces = {
        item["measurement"]: load_trace(content)
        for item in reader.items_of(cell.id, names, seed)
        if (content := reader.solved(item["shard"], item["item"]).get("trace")) is not None
    }
    if not traces:
        return None
    first, one = next(iter(traces.items()))
    samples = []
    for name in sorted((key for key in one if key.startswith(_SAMPLE)), key=lambda key: -int(key[len(_SAMPLE) :])):
        level = int(name[len(_SAMPLE) :])
        key = f"sample/{cell.id}/{first}/{level}"
        images[key] = thumbnail(encode_png(to_picture(from_numpy(one[name]))))
        samples.append((level, key))
    return TraceCurves(
        cell=cell.id,
        levels=one["levels"].tolist(),
        **{name: _mean(traces, name) for name in ("total", "likelihood", "kl", "remasked", "masked")},
        rows=len(traces),
        samples=samples,
        measurement=first,
    )


def load_trace(content: bytes) -> Arrays:
    """A stored `.npz`; numbers only, nothing is unpickled."""
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        return dict(arrays)


def _mean(traces: dict[str, Arrays], name: str) -> list[float]:
    rows = np.stack([trace[name].ravel() for trace in traces.values()]).astype(np.float64)
    return [float(value) for value in rows.mean(axis=0)]
