"""Every measurement over all cells, also of another sweep on the same ones: what a page's explorer shows."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice, zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eval.record import CellResult, SweepRecord
from eval.record.numbers import finite
from eval.report.content import Other, Report
from eval.statistics import bootstrap_interval

NUMBERS = 1_000_000
"""Scores in a page, all tasks together; of more, measurements are left out."""

PAIRS, PAIRED_NUMBERS = 480, 120_000
"""Intervals in a page, and the differences that they are made of: each is resampled ten thousand times."""

MOST_DIFFERENT = 9
"""Measurements on which two cells differ most: that many are shown, and for the first pair have pictures."""

DIFFERENT_PICTURED = 36
"""The same over all tasks and metrics."""

Place = tuple[str, str, int]
"""Digest, or name where none was recorded, then name and seed of a measurement."""


@dataclass(frozen=True)
class Explored:
    """The scores of one task; entry i of every list belongs to measurement i."""

    task: str
    measurements: list[str]
    seeds: list[int]
    cells: dict[str, str]
    """Labels by cell, the sweep's own first."""

    values: dict[str, dict[str, list[float | None]]]
    """By metric and cell."""

    best: list[str]
    """Two cells to begin with: the best, and what it is held against."""

    intervals: dict[str, dict[str, list[float | None]]]
    """By metric and `A|B`: mean, low and high of cell A minus cell B, paired, over the measurements here."""

    left_out: int = 0
    """Measurements that did not fit; each seed counts."""


def explored(report: Report, numbers: int = NUMBERS) -> Iterator[Explored]:
    """One entry per task; of more than `numbers` scores those of measurements with pictures are kept first."""
    different = most_different(report.record, report.against, report.wanted_cells)
    first = [*report.wanted, *(name for name, _ in different), *(row.measurement for row in report.pictures.rows)]
    metrics = [metric.name for metric in report.record.metrics]
    for task in report.record.tasks:
        cells, tasks = _cells(report.record, report.against, task), len(report.record.tasks)
        begin = _begin(task, cells, report.wanted_cells)
        yield _task(task, cells, metrics, first, tasks * len(metrics), begin, numbers // tasks)


def most_different(
    record: SweepRecord, against: Sequence[Other], wanted: Sequence[str] = ()
) -> list[tuple[str, list[str]]]:
    """Measurements on which the two cells that a page begins with differ most by some metric, with the cells' keys."""
    ranked: list[list[tuple[str, list[str]]]] = []
    for task in record.tasks:
        cells = _cells(record, against, task)
        begin = _begin(task, cells, wanted)
        pair = [(of, cell) for name, of, cell in cells if cell_key(name, cell.id) in begin]
        for metric in record.judged if len(pair) == 2 else ():
            ranked.append([(name, begin) for name in _gaps(pair, metric.name)])
    turns = (one for rank in zip_longest(*ranked) for one in rank if one is not None)
    return list({(name, *keys): (name, keys) for name, keys in turns}.values())[:DIFFERENT_PICTURED]


def _gaps(pair: Sequence[tuple[SweepRecord, CellResult]], metric: str) -> list[str]:
    """Names of measurements, the largest difference first."""
    sides = []
    for record, cell in pair:
        values = record.values(cell, metric).values.tolist() if metric in cell.means else []
        sides.append({p[:1] + p[2:]: (p[1], v) for p, v in zip(_places(record, cell), values, strict=False)})
    a, b = sides
    gaps = {a[place][0]: abs(a[place][1] - b[place][1]) for place in a if place in b}
    known = [name for name, gap in gaps.items() if np.isfinite(gap)]
    return sorted(known, key=lambda name: -gaps[name])[:MOST_DIFFERENT]


def _cells(record: SweepRecord, against: Sequence[Other], task: str) -> list[tuple[str, SweepRecord, CellResult]]:
    """Of the sweep itself, which has no name here, and of those beside it."""
    sides = [("", record), *((one.name, one.record) for one in against)]
    return [(name, of, cell) for name, of in sides for cell in _of_task(of, task)]


def cell_key(sweep: str, cell: str) -> str:
    """A cell among those of several sweeps; one's own have no prefix."""
    return f"{sweep}:{cell}" if sweep else cell


def _task(
    task: str,
    cells: list[tuple[str, SweepRecord, CellResult]],
    metrics: list[str],
    first: Sequence[str],
    shares: int,
    begin: list[str],
    numbers: int,
) -> Explored:
    places = _shown_places(cells, first, numbers // max(1, len(cells) * len(metrics)))
    every = {place[:1] + place[2:] for _, record, cell in cells for place in _places(record, cell)}
    index = {place[:1] + place[2:]: at for at, place in enumerate(places)}
    names = [place[1] for place in places]
    values: dict[str, dict[str, list[float | None]]] = {}
    intervals: dict[str, dict[str, list[float | None]]] = {}
    for metric in metrics:
        columns: dict[str, NDArray[np.float64]] = {}
        for name, record, cell in cells:
            if metric in cell.means:
                column = np.full(len(places), np.nan)
                here = [index.get(place[:1] + place[2:]) for place in _places(record, cell)]
                kept = [at is not None for at in here]
                column[[at for at in here if at is not None]] = record.values(cell, metric).values[kept]
                columns[cell_key(name, cell.id)] = np.where(np.isfinite(column), column, np.nan)
        values[metric] = {key: [_rounded(value) for value in column.tolist()] for key, column in columns.items()}
        intervals[metric] = _intervals(columns, names, begin, shares)
    labels = {cell_key(name, cell.id): f"{name}: {cell.marked}" if name else cell.marked for name, _, cell in cells}
    return Explored(
        task, names, [place[2] for place in places], labels, values, begin, intervals, len(every) - len(places)
    )


def _rounded(value: float) -> float | None:
    return None if np.isnan(value) else float(f"{value:.5g}")


def _intervals(
    columns: Mapping[str, NDArray[np.float64]], measurements: list[str], begin: Sequence[str], shares: int
) -> dict[str, list[float | None]]:
    """Those of the cells that a page begins with first, then of these with all others, then as far as they are kept."""
    order = sorted(columns, key=lambda key: begin.index(key) if key in begin else len(begin))
    most = min(PAIRS, PAIRED_NUMBERS // max(1, len(measurements))) // shares
    clusters, found = np.array(measurements, dtype=object), dict[str, list[float | None]]()
    for a, b in islice(combinations(order, 2), max(1, most)):
        difference = columns[a] - columns[b]
        if np.isfinite(difference).any():
            gap = bootstrap_interval(difference, clusters)
            found[f"{a}|{b}"] = [finite(gap.mean), finite(gap.low), finite(gap.high)]
    return found


def _begin(task: str, cells: list[tuple[str, SweepRecord, CellResult]], wanted: Sequence[str] = ()) -> list[str]:
    """Those asked for, then the best of each sweep; of one sweep those of its first two arms, or its best two cells."""
    chosen = [cell.id for name, _, cell in cells if not name and cell.id in wanted]
    sides = {name: record for name, record, _ in cells}
    for name, record in sides.items():
        if chosen and not name and len(sides) > 1:
            continue
        arms: Iterable[str | None] = [None] if len(sides) > 1 else record.arms
        for arm in arms if record.judged else ():
            best = record.best_of(task, record.judged[0], arm)
            chosen += [cell_key(name, best.id)] if best is not None else []
    every = [cell_key(name, cell.id) for name, _, cell in cells]
    return list(dict.fromkeys([*chosen, *every]))[:2]


def _shown_places(cells: list[tuple[str, SweepRecord, CellResult]], first: Sequence[str], most: int) -> list[Place]:
    known: dict[Any, Place] = {}
    for _, record, cell in cells:
        for place in _places(record, cell):
            known.setdefault(place[:1] + place[2:], place)
    order = {name: at for at, name in reversed(list(enumerate(first)))}
    kept = sorted(known.values(), key=lambda place: order.get(place[1], len(order)))[: max(most, 1)]
    return sorted(kept, key=lambda place: (place[1], place[2]))


def _places(record: SweepRecord, cell: CellResult) -> list[Place]:
    column = record.values(cell, record.scores.metrics[0])
    rows = zip(column.digests, column.measurements, column.seeds, strict=True)
    return [(str(name if digest is None else digest), str(name), int(seed)) for digest, name, seed in rows]


def _of_task(record: SweepRecord, task: str) -> list[CellResult]:
    return record.of_task(task) if task in record.tasks else []
