"""The tables a sweep ends with on a terminal: every cell with intervals, and star against Markov."""

from collections.abc import Sequence

from eval.metrics import metric_info
from eval.scores import ScoreTable
from eval.statistics import bootstrap_interval, compare_grid
from operators import InputError

_SHOWN_CELLS = 40


def cell_table(scores: ScoreTable, metrics: Sequence[str]) -> str:
    """One line per cell: mean and 95 % interval of each metric, images and failures."""
    header = ["cell", *metrics, "s/image", "n", "failed"]
    cells = scores.cells()
    rows = [[scores.cell_label(cell), *_cell_columns(scores, cell, metrics)] for cell in cells[:_SHOWN_CELLS]]
    left = [] if len(cells) <= _SHOWN_CELLS else [f"... and {len(cells) - _SHOWN_CELLS} cells more in {scores.where}"]
    return "\n".join([aligned([header, *rows]), *left])


def process_table(scores: ScoreTable, metrics: Sequence[str], varied: Sequence[str]) -> str | None:
    """Star minus Markov at the same point of the grid over `varied`; None where there is no such pair."""
    rows = []
    for metric in metrics:
        try:
            results = compare_grid(scores, metric, along="process", within=["task", *varied])
        except InputError:
            return None
        for result in results:
            # labels sort markov before star, so that the difference is star minus Markov
            low, high = result.difference.low, result.difference.high
            interval = "" if low is None or high is None else f" [{low:+.3f}, {high:+.3f}]"
            p = 1.0 if result.p_corrected is None else result.p_corrected
            shown = low is not None and high is not None and not low <= 0 <= high and p < 0.05
            better = _better(metric, result.difference.mean) if shown else "no difference shown"
            rows.append([result.a, metric, f"{result.difference.mean:+.3f}{interval}", f"{p:.2g}", better])
    return aligned([["star - Markov", "metric", "difference [95 %]", "p (Holm)", ""], *rows])


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Columns padded to their widest entry; the first is flush left, the others flush right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        first, *rest = (
            cell.ljust(width) if not column else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        lines.append("  ".join([first, *rest]).rstrip())
    return "\n".join(lines)


def _cell_columns(scores: ScoreTable, cell: str, metrics: Sequence[str]) -> list[str]:
    columns = []
    for metric in metrics:
        values = scores.values(cell, metric)
        if not values.finite.any():
            columns.append("-")
            continue
        interval = bootstrap_interval(values.values, values.measurements)
        spread = "" if interval.low is None else f" [{interval.low:.3f}, {interval.high:.3f}]"
        columns.append(f"{interval.mean:.3f}{spread}")
    seconds = scores.values(cell, "seconds")
    mean = f"{seconds.values[seconds.finite].mean():.2f}" if seconds.finite.any() else "-"
    return [*columns, mean, str(len(seconds.values)), str(seconds.failed_count)]


def _better(metric: str, difference: float) -> str:
    direction = metric_info(metric).direction
    if direction == "none":
        return "differs"
    return "star better" if (difference > 0) == (direction == "higher") else "Markov better"
