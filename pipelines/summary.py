"""The tables a sweep ends with on a terminal: every cell with intervals, and star against Markov."""

from collections.abc import Collection, Sequence
from contextlib import suppress

import pyarrow as pa

from eval.metrics import metric_info
from eval.scores import ScoreTable
from eval.seconds import CellSeconds, cell_seconds
from eval.statistics import Interval, PairedResult, bootstrap_interval, compare_grid, corrected_together
from eval.verdicts import SIGNIFICANT, images_needed, verdict
from operators import InputError
from operators.plurals import counted
from pipelines.features import distances_by_cell
from pipelines.references import LABEL, measurement_means

_SHOWN_CELLS = 40
_WHAT = ("task", "process")
"""What a cell is told by, even where it is the only one."""


def cell_table(
    scores: ScoreTable,
    metrics: Sequence[str],
    grid: Sequence[str],
    distances: pa.Table | None = None,
    references: pa.Table | None = None,
    notes: Sequence[str] = (),
) -> str:
    """One line per cell: task, process and what the grid varies, then mean and 95 % interval of each metric.

    Below them what the measurements of each task are worth by themselves, as images, and what is not complete.
    """
    cells = scores.cells()
    shown, known = _shown(scores, grid), distances_by_cell(distances)
    names = list(dict.fromkeys(name for cell in known.values() for name in cell))
    seconds = cell_seconds(scores)
    header = [*shown, *metrics, *names, "s/image", "n", "failed"]
    rows = [
        [
            *_named(scores, cell, shown), *_means(scores, cell, metrics),
            *(str(known.get(cell, {}).get(name, "-")) for name in names), *_costs(scores, cell, seconds.get(cell)),
        ]
        for cell in cells[:_SHOWN_CELLS]
    ]  # fmt: skip
    rows += [
        [task if name == "task" else LABEL if name == "process" else "-" for name in shown]
        + [_interval(means[metric]) if metric in means else "-" for metric in metrics]
        + ["-"] * (len(names) + 1) + [str(max((mean.clusters for mean in means.values()), default=0)), "-"]
        for task, means in measurement_means(references, scores).items()
    ]  # fmt: skip
    left = (
        []
        if len(cells) <= _SHOWN_CELLS
        else [f"... and {counted(len(cells) - _SHOWN_CELLS, 'cell')} more in {scores.where}"]
    )
    told = [f"note: {note}" for note in notes]
    return "\n".join([aligned([header, *rows], words=range(len(shown))), *left, *told])


def process_table(scores: ScoreTable, metrics: Sequence[str], grid: Sequence[str]) -> str | None:
    """Star minus Markov at the same point of the grid, by metrics that judge; None where there is no such pair."""
    shown = [name for name in _shown(scores, grid) if name != "process"]
    cells = {scores.cell_label(cell): cell for cell in scores.cells()}
    found: list[PairedResult] = []
    for metric in metrics:
        if metric_info(metric).direction != "none":
            with suppress(InputError):  # no pair, or none that has a value of this metric
                found += compare_grid(scores, metric, along="process", within=["task", *grid])
    if not found:
        return None
    # labels sort markov before star, so that the difference is star minus Markov
    rows = [
        [*_named(scores, cells[one.a], shown), one.metric, *_difference(one)] for one in corrected_together(found)
    ]  # fmt: skip
    header = [*shown, "metric", "star - Markov [95 %]", "p (Holm)", ""]
    words = [*range(len(shown) + 1), len(header) - 1]
    return "\n".join([aligned([header, *rows], words), _corrected(found)])


def aligned(rows: Sequence[Sequence[str]], words: Collection[int]) -> str:
    """Columns padded to their widest entry; those of `words` are flush left, the others flush right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        padded = [
            cell.ljust(width) if column in words else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(padded).rstrip())
    return "\n".join(lines)


def _shown(scores: ScoreTable, grid: Sequence[str]) -> list[str]:
    """Columns that name a cell. What was tuned for a task and process follows from these, and is left out."""
    names = [name for name in _WHAT if name in scores.parameters]
    settings = [scores.cell_parameters(cell) for cell in scores.cells()]
    return names + [n for n in grid if n not in names and len({repr(values.get(n)) for values in settings}) > 1]


def _named(scores: ScoreTable, cell: str, shown: Sequence[str]) -> list[str]:
    settings = scores.cell_parameters(cell)
    return [_text(settings.get(name)) for name in shown]


def _text(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _means(scores: ScoreTable, cell: str, metrics: Sequence[str]) -> list[str]:
    columns = []
    for metric in metrics:
        values = scores.values(cell, metric)
        if not values.finite.any():
            columns.append("-")
            continue
        columns.append(_interval(bootstrap_interval(values.values, values.measurements)))
    return columns


def _interval(interval: Interval) -> str:
    spread = "" if interval.low is None else f" [{interval.low:.3f}, {interval.high:.3f}]"
    return f"{interval.mean:.3f}{spread}"


def _costs(scores: ScoreTable, cell: str, seconds: CellSeconds | None) -> list[str]:
    """Seconds an image takes, images that have scores, and those that failed."""
    column = scores.values(cell, scores.metrics[0])
    taken = "-" if seconds is None else f"{seconds.seconds:.2f}"
    return [taken, str(len(column.values) - column.failed_count), str(column.failed_count)]


def _difference(result: PairedResult) -> list[str]:
    """Difference and interval, corrected p, and what both together allow to say."""
    gap = result.difference
    interval = "" if gap.low is None or gap.high is None else f" [{gap.low:+.3f}, {gap.high:+.3f}]"
    said = verdict(metric_info(result.metric), result, "star", "Markov")
    return [f"{gap.mean:+.3f}{interval}", f"{result.p_corrected:.2g}", said]


def _corrected(results: Sequence[PairedResult]) -> str:
    """What p was corrected over, and whether so few measurements were compared that none could pass."""
    counted = f"p is corrected over {len(results)} comparisons" if len(results) > 1 else "one comparison"
    measured, enough = max(result.difference.clusters for result in results), images_needed(len(results))
    if measured >= enough:
        return f"{counted}."
    return f"{counted}: {measured} measurements cannot give one below {SIGNIFICANT:g}, {enough} can."
