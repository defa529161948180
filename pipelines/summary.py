"""The tables a sweep ends with on a terminal: every cell with intervals, and star against Markov."""

from collections import Counter
from collections.abc import Collection, Sequence

import pyarrow as pa

from eval.metrics import metric_info
from eval.scores import ScoreTable
from eval.statistics import PairedResult, bootstrap_interval, compare_grid
from operators import InputError

LEVEL = 0.05
"""Corrected p-values below it count as a difference."""
_SHOWN_CELLS = 40
_WHAT = ("task", "process")
"""What a cell is told by, even where it is the only one."""


def cell_table(
    scores: ScoreTable, metrics: Sequence[str], grid: Sequence[str], distances: pa.Table | None = None
) -> str:
    """One line per cell: task, process and what the grid varies, then mean and 95 % interval of each metric."""
    cells = scores.cells()
    shown, known = _shown(scores, grid), _distances(distances)
    names = list(dict.fromkeys(name for _, name in known))
    header = [*shown, *metrics, *names, "s/image", "n", "failed"]
    rows = [
        [
            *_named(scores, cell, shown), *_means(scores, cell, metrics),
            *(known.get((cell, name), "-") for name in names), *_costs(scores, cell),
        ]
        for cell in cells[:_SHOWN_CELLS]
    ]  # fmt: skip
    left = [] if len(cells) <= _SHOWN_CELLS else [f"... and {len(cells) - _SHOWN_CELLS} cells more in {scores.where}"]
    return "\n".join([aligned([header, *rows], words=range(len(shown))), *left])


def process_table(scores: ScoreTable, metrics: Sequence[str], grid: Sequence[str]) -> str | None:
    """Star minus Markov at the same point of the grid; None where there is no such pair."""
    shown = [name for name in _shown(scores, grid) if name != "process"]
    cells = {scores.cell_label(cell): cell for cell in scores.cells()}
    rows, coarse = [], ""
    for metric in metrics:
        try:
            results = compare_grid(scores, metric, along="process", within=["task", *grid])
        except InputError:
            continue
        for result in results:
            # labels sort markov before star, so that the difference is star minus Markov
            rows.append([*_named(scores, cells[result.a], shown), metric, *_difference(metric, result)])
        coarse = coarse or _too_few(scores, results, cells)
    if not rows:
        return None
    header = [*shown, "metric", "star - Markov [95 %]", "p (Holm)", ""]
    words = [*range(len(shown) + 1), len(header) - 1]
    return "\n".join([aligned([header, *rows], words), *([coarse] if coarse else [])])


def failures(table: pa.Table) -> Counter[str]:
    """Sentences of failed rows, and how many rows each has."""
    return Counter(error for error in table["error"].to_pylist() if error is not None)


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


def _distances(table: pa.Table | None) -> dict[tuple[str, str], str]:
    rows = [] if table is None else table.select(["cell", "metric", "value"]).to_pylist()
    return {(row["cell"], row["metric"]): "-" if row["value"] is None else f"{row['value']:.3f}" for row in rows}


def _means(scores: ScoreTable, cell: str, metrics: Sequence[str]) -> list[str]:
    columns = []
    for metric in metrics:
        values = scores.values(cell, metric)
        if not values.finite.any():
            columns.append("-")
            continue
        interval = bootstrap_interval(values.values, values.measurements)
        spread = "" if interval.low is None else f" [{interval.low:.3f}, {interval.high:.3f}]"
        columns.append(f"{interval.mean:.3f}{spread}")
    return columns


def _costs(scores: ScoreTable, cell: str) -> list[str]:
    """Seconds an image took, images and failures."""
    seconds = scores.values(cell, "seconds")
    mean = f"{seconds.values[seconds.finite].mean():.2f}" if seconds.finite.any() else "-"
    return [mean, str(len(seconds.values)), str(seconds.failed_count)]


def _difference(metric: str, result: PairedResult) -> list[str]:
    """Difference and interval, corrected p, and what both together allow to say."""
    gap, p = result.difference, 1.0 if result.p_corrected is None else result.p_corrected
    interval = "" if gap.low is None or gap.high is None else f" [{gap.low:+.3f}, {gap.high:+.3f}]"
    apart = gap.low is not None and gap.high is not None and not gap.low <= 0 <= gap.high
    said = "no difference shown" if not apart else _verdict(metric, gap.mean, p < LEVEL)
    return [f"{gap.mean:+.3f}{interval}", f"{p:.2g}", said]


def _too_few(scores: ScoreTable, results: Sequence[PairedResult], cells: dict[str, str]) -> str:
    """A sentence where so few measurements were compared that no p-value could pass the correction."""
    columns = [scores.values(cells[result.a], result.metric) for result in results]
    measured = min(len(set(column.measurements[column.finite])) for column in columns)
    if len(results) * 2.0 ** (1 - measured) < LEVEL:
        return ""
    enough = next(count for count in range(measured, 64) if len(results) * 2.0 ** (1 - count) < LEVEL)
    return (
        f"{measured} measurements cannot give p below {LEVEL:g} over {len(results)} comparisons of a metric, "
        f"however large the difference; {enough} can."
    )


def _verdict(metric: str, difference: float, sure: bool) -> str:
    direction = metric_info(metric).direction
    if direction == "none":
        return "differs" if sure else f"may differ (p >= {LEVEL:g})"
    ahead = "star" if (difference > 0) == (direction == "higher") else "Markov"
    return f"{ahead} better" if sure else f"leans to {ahead} (p >= {LEVEL:g})"
