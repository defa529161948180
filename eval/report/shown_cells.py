"""Which cells and which measurements a report shows as pictures: few, and the same for the same scores."""

from collections.abc import Iterator, Sequence

import numpy as np

from eval.report.content import Kind, PictureRow
from eval.report.findings import best_of
from eval.report.results import CellResult, Results
from eval.scores import CellValues

KINDS: tuple[Kind, ...] = ("worst", "median", "best")
CELLS_SHOWN = 6


def chosen_cells(results: Results, task: str, also: Sequence[str] = ()) -> list[CellResult]:
    """The best of each process for every judged metric, and those asked for by id, at most `CELLS_SHOWN`.

    Without a judged metric nothing is best, and the first of each process stands for it.
    """
    cells = results.of_task(task)
    picked: dict[str, CellResult] = {cell.id: cell for cell in cells if cell.id in also}
    processes = dict.fromkeys(cell.process for cell in cells)
    groups = [[cell for cell in cells if cell.process == process] for process in processes]
    best = [best_of(group, metric) for metric in results.judged for group in groups]
    for one in best if results.judged else [group[0] for group in groups]:
        if one is not None:
            picked.setdefault(one.id, one)
    shown = list(picked.values())[: max(CELLS_SHOWN, len(also))]
    return sorted(shown, key=lambda cell: cell.process != "star")


def picture_rows(results: Results, each: int = 3, also: Sequence[str] = ()) -> list[PictureRow]:
    """Worst, median and best measurements of the winning cell, per task and judged metric.

    The first of every kind come first, then the second and so on, so that whoever takes a beginning of the list
    takes something of everything.
    """
    groups = [
        list(_ranked(results, task, metric.name, metric.direction == "higher", each, chosen_cells(results, task, also)))
        for task in results.tasks
        for metric in results.judged
    ]
    return [row for rank in range(each) for group in groups for row in group[rank * len(KINDS) :][: len(KINDS)]]


def _ranked(
    results: Results, task: str, metric: str, higher: bool, each: int, cells: Sequence[CellResult]
) -> Iterator[PictureRow]:
    info = next(one for one in results.metrics if one.name == metric)
    winner = best_of(results.of_task(task), info)
    if winner is None:
        return
    column = results.values(winner, metric)
    rows = np.flatnonzero(column.finite)
    order = rows[np.argsort(column.values[rows] if higher else -column.values[rows], kind="stable")]  # worst first
    taken: set[int] = set()
    shown = [_index(results.values(cell, metric)) for cell in cells]
    for rank in range(each):
        for kind in KINDS:
            row = int(order[_position(kind, rank, len(order))])
            if row in taken:
                continue
            taken.add(row)
            measurement, seed = str(column.measurements[row]), int(column.seeds[row])
            values = {cell.id: of.get((measurement, seed)) for cell, of in zip(cells, shown, strict=True)}
            yield PictureRow(task, metric, kind, measurement, seed, values)


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
