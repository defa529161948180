"""Kept traces as curves: losses, re-masked tokens, the prior's own guesses, of the cells that a page shows."""

import io
from typing import Any

import numpy as np
from torch import from_numpy

from eval.report.content import TraceCurves
from eval.report.findings import best_of
from eval.report.results import CellResult, Results
from eval.report.shown_cells import CELLS_SHOWN, chosen_cells
from eval.report.thumbnails import thumbnail
from pipelines.images import encode_png, to_picture
from pipelines.reporting.pictures import PICTURE_BYTES, PictureReader

ROWS = 16
"""Measurements of a cell whose traces are averaged."""
SAMPLES = 12
"""Levels of t at which a cell's prior samples are shown."""
_SAMPLE = "prior_sample_"

Arrays = dict[str, Any]


def read_traces(
    reader: PictureReader, results: Results, images: dict[str, bytes], budget: int = PICTURE_BYTES
) -> list[TraceCurves]:
    """One entry per cell that has traces; the prior's guesses join the page's pictures, within the budget of all."""
    found = []
    cells = [cell for task in results.tasks for cell in _shown(results, task)]
    for waiting, cell in zip(range(len(cells), 0, -1), cells, strict=True):
        share = (budget - sum(map(len, images.values()))) // waiting
        curves = _curves(reader, results, cell, images, share)
        if curves is not None:
            found.append(curves)
    return found


def _shown(results: Results, task: str) -> list[CellResult]:
    """All of a few cells; of many the best of each process by the first metric that judges."""
    cells = results.of_task(task)
    if len(cells) <= CELLS_SHOWN:
        return sorted(cells, key=lambda cell: cell.process != "star")
    if not results.judged:
        return chosen_cells(results, task)
    processes = dict.fromkeys(cell.process for cell in cells)
    best = [best_of([cell for cell in cells if cell.process == process], results.judged[0]) for process in processes]
    return [cell for cell in best if cell is not None]


def _curves(
    reader: PictureReader, results: Results, cell: CellResult, images: dict[str, bytes], budget: int
) -> TraceCurves | None:
    column = results.values(cell, results.scores.metrics[0])
    good = ~column.failed
    if not good.any():
        return None
    seed = int(column.seeds[good].min())
    names = [str(name) for name in column.measurements[good & (column.seeds == seed)][:ROWS]]
    traces: dict[str, Arrays] = {}
    traced = []
    for item in reader.items_of(cell.id, names, seed):
        content = reader.solved(item["shard"], item["item"]).get("trace")
        if content is not None:
            traces[item["measurement"]] = load_trace(content, samples=not traces)
            traced.append(item)
    if not traces:
        return None
    first, one = next(iter(traces.items()))
    kept = sorted((int(name[len(_SAMPLE) :]) for name in one if name.startswith(_SAMPLE)), reverse=True)
    if kept and f"truth/{first}" not in images:
        beside = reader.measured_images(first, traced[0])
        budget -= sum(map(len, beside.values()))
        images |= beside if budget >= 0 else {}
    samples = {f"sample/{cell.id}/{first}/{level}": content for level, content in _samples(one, kept, budget).items()}
    images |= samples
    return TraceCurves(
        cell=cell.id,
        levels=one["levels"].tolist(),
        **{name: _mean(traces, name) for name in ("total", "likelihood", "kl", "remasked", "masked")},
        rows=len(traces),
        samples=[(int(key.rpartition("/")[2]), key) for key in samples],
        samples_kept=len(kept),
        measurement=first,
    )


def _samples(trace: Arrays, levels: list[int], budget: int) -> dict[int, bytes]:
    """Pictures at as many levels, evenly spread, as fit into the budget."""
    shown = evenly(levels, SAMPLES)
    found = {level: thumbnail(encode_png(to_picture(from_numpy(trace[f"{_SAMPLE}{level}"])))) for level in shown}
    for count in range(len(shown), 0, -1):
        chosen = {level: found[level] for level in evenly(shown, count)}
        if sum(map(len, chosen.values())) <= budget:
            return chosen
    return {}


def evenly(levels: list[int], count: int) -> list[int]:
    """At most `count` of them, the ends included."""
    if len(levels) <= count:
        return levels
    return [levels[round(place)] for place in np.linspace(0, len(levels) - 1, count)] if count > 1 else levels[-1:]


def load_trace(content: bytes, samples: bool = True) -> Arrays:
    """A stored `.npz`, without its prior samples where nobody looks at them; nothing is unpickled."""
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files if samples or not name.startswith(_SAMPLE)}


def _mean(traces: dict[str, Arrays], name: str) -> list[float]:
    rows = np.stack([trace[name].ravel() for trace in traces.values()]).astype(np.float64)
    return [float(value) for value in rows.mean(axis=0)]
