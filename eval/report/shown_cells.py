"""Which cells and which measurements a report shows as pictures: few, and the same for the same scores."""

from collections.abc import Iterator, Sequence

import numpy as np

from eval.metrics import MetricInfo
from eval.record import CellResult, SweepRecord
from eval.report.content import Kind, PictureRow
from eval.scores import CellValues

KINDS: tuple[Kind, ...] = ("worst", "median", "best")
CELLS_SHOWN = 6


def chosen_cells(record: SweepRecord, task: str, also: Sequence[str] = ()) -> list[CellResult]:
    """The best of each arm for every judged metric, and those asked for by id, at most `CELLS_SHOWN`.

    Without a judged metric nothing is best, and the first of each arm stands for it.
    """
    cells = record.of_task(task)
    picked = {cell.id: cell for cell in cells if cell.id in also}
    best = [record.best_of(task, metric, arm) for metric in record.judged for arm in record.arms]
    if not record.judged:
        best = [next((cell for cell in cells if cell.arm == arm), None) for arm in record.arms]
    picked |= {cell.id: cell for cell in best if cell is not None and cell.id not in picked}
    shown = list(picked.values())[: max(CELLS_SHOWN, len(also))]
    return sorted(shown, key=lambda cell: record.arms.index(cell.arm))


def traced_cells(record: SweepRecord, task: str) -> list[CellResult]:
    """All of a few cells; of many the best of each arm by the first metric that judges."""
    cells = record.of_task(task)
    if len(cells) <= CELLS_SHOWN:
        return cells
    best = [record.best_of(task, metric, arm) for metric in record.judged[:1] for arm in record.arms]
    return [cell for cell in best if cell is not None] if record.judged else chosen_cells(record, task)


def picture_rows(record: SweepRecord, each: int = 3, also: Sequence[str] = ()) -> list[PictureRow]:
    """Worst, median and best measurements of the winning cell, per task and judged metric.

    The first of every kind come first, then the second and so on, so that whoever takes a beginning of the list
    takes something of everything.
    """
    groups = [
        list(_ranked(record, task, metric, each, chosen_cells(record, task, also)))
        for task in record.tasks
        for metric in record.judged
    ]
    return [row for rank in range(each) for group in groups for row in group[rank * len(KINDS) :][: len(KINDS)]]


def _ranked(
    record: SweepRecord, task: str, metric: MetricInfo, each: int, cells: Sequence[CellResult]
) -> Iterator[PictureRow]:
    winner, name = record.best_of(task, metric), metric.name
    if winner is None:
        return
    column = record.values(winner, name)
    rows = np.flatnonzero(column.finite)
    values = column.values[rows] if metric.direction == "higher" else -column.values[rows]
    order = rows[np.argsort(values, kind="stable")]  # worst first
    taken: set[int] = set()
    shown = [_index(record.values(cell, name)) for cell in cells]
    for rank in range(each):
        for kind in KINDS:
            row = int(order[_position(kind, rank, len(order))])
            if row in taken:
                continue
            taken.add(row)
            measurement, seed = str(column.measurements[row]), int(column.seeds[row])
            by_cell = {cell.id: of.get((measurement, seed)) for cell, of in zip(cells, shown, strict=True)}
            unasked = [cell.id for cell, of in zip(cells, shown, strict=True) if (measurement, seed) not in of]
            yield PictureRow(task, name, kind, measurement, seed, by_cell, unasked=tuple(unasked))


def _position(kind: Kind, rank: int, count: int) -> int:
    """Place in the order from worst to best; the middle ones lie around the median."""
    offset = (rank + 1) // 2 * (1 if rank % 2 else -1)
    place = {"worst": rank, "median": count // 2 + offset, "best": count - 1 - rank}[kind]
    return min(max(place, 0), count - 1)


def _index(column: CellValues) -> dict[tuple[str, int], float | None]:
    return {
        (str(m), int(s)): float(v) if np.isfinite(v) else None
        for m, s, v in zip(column.measurements, column.seeds, column.values, strict=True)
    }
