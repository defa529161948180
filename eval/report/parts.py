"""The sections of a page below its first screen; tables are written here, charts are drawn by the page itself."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from eval.paper import CITATION
from eval.report.content import Facts, Report
from eval.report.findings import Best, Duel, tuned_apart
from eval.report.numbers import p_shown, shown, spread
from eval.report.paper_rows import PaperTable, paper_tables
from eval.report.ranking import ENOUGH
from eval.report.results import Results
from eval.report.sections import Entry, paragraph, table
from eval.report.shown_cells import CELLS_SHOWN
from eval.report.thumbnails import LONGEST_SIDE
from eval.statistics import Interval
from eval.verdicts import SIGNIFICANT

_FIGURE = '<figure class="chart"{}></figure>'
_CONTROLS = '<div class="controls"></div>'
_NAMED = 5
"""Cells that a sentence lists."""


@dataclass(frozen=True)
class Part:
    """A section with the anchor and the short title that the navigation shows."""

    anchor: str
    short: str
    title: str
    html: str


def parts(report: Report, best: Sequence[Best], duels: Sequence[Duel], grid: Sequence[Duel]) -> Iterator[Part]:
    """In the order of the page; what a sweep has nothing to show for is left out."""
    results = report.results
    yield Part("best", "Best", "The best settings", _best(best, report.measurements))
    if duels:
        yield Part("processes", "Star and Markov", "Star against Markov", _processes(duels, grid, tuned_apart(results)))
    if results.axes:
        figures = "".join(_FIGURE.format(f' id="{name}"') for name in ("heat", "marginal", "parallel"))
        yield Part("grid", "Grid", "Over the grid", _CONTROLS + figures)
    if results.judged and any(cell.comparable_seconds is not None for cell in results.cells):
        yield Part("cost", "Cost", "Quality against seconds", _apart(results) + _CONTROLS + _FIGURE.format(""))
    if any("residual" in cell.means for cell in results.cells):
        yield Part("residual", "Residual", "Residual against the noise", _CONTROLS + _FIGURE.format(""))
    if report.pictures.rows:
        yield Part("pictures", "Pictures", "Pictures", _pictures(report))
    if report.traces:
        yield Part("traces", "Traces", "How solving went", _traces())


def last_parts(report: Report) -> Iterator[Part]:
    """What follows the caller's own sections."""
    tables = paper_tables(report.results, report.facts)
    if tables:
        yield Part("paper", "Paper", "Beside the paper's tables", _paper(tables))
    yield Part("cells", "Cells", "Every cell", _cells(report))
    yield Part("ran", "What ran", "What ran", _ran(report.facts))


def _apart(results: Results) -> str:
    """Which cells the plot of seconds leaves out."""
    left = [cell for cell in results.cells if cell.seconds is not None and cell.comparable_seconds is None]
    if not left:
        return ""
    names = "; ".join(f"{cell.task} {cell.label}" for cell in left[:_NAMED]) + ("; ..." if left[_NAMED:] else "")
    return paragraph(
        f"Not in the plot, because they were solved in smaller batches than most cells of their task, or on other "
        f"devices, and their seconds would show that instead of the settings: {names}."
    )


def _best(best: Sequence[Best], measured: Mapping[str, Mapping[str, Interval]]) -> str:
    rows: list[list[Entry]] = [
        [
            f"{one.task} · {one.metric.name}",
            one.cell.label,
            shown(one.mean.mean),
            spread(one.mean),
            one.metric.unit,
            one.of_images,
            f"{one.tied} of {one.rivals}",
            *_measured(measured, one),
        ]
        for one in best
    ]
    header = ["task and metric", "settings", "mean", "95 % interval", "unit", "images", "tied cells"]
    header += ["the measurement itself"] if measured else []
    words = paragraph(
        "Intervals resample whole images. A cell ties with the best where the 95 % interval of their paired difference "
        "holds 0. The best of many is flattered by having been chosen on these images; confirm it on others."
    )
    left = [f"{one.unranked} of {one.task} by {one.metric.name}" for one in best if one.unranked]
    if left:
        words += paragraph(
            "Cells are ranked by their means over the rows they share. Not ranked are cells with less than "
            f"{100 * ENOUGH:g} % of the values of the fullest: {', '.join(left)}."
        )
    if measured:
        words += paragraph(
            "The measurement itself is y as an image: as it is where it has the image's size, else carried back by the "
            "operator's adjoint. A method that is not better than it has added nothing by that metric."
        )
    return table(header, rows, "Best mean per task and metric") + words


def _measured(measured: Mapping[str, Mapping[str, Interval]], best: Best) -> list[str]:
    mean = measured.get(best.task, {}).get(best.metric.name)
    return [] if not measured else ["" if mean is None else shown(mean.mean)]


def _processes(duels: Sequence[Duel], grid: Sequence[Duel], tuned: Sequence[str]) -> str:
    words = (
        "Each process with its best settings by that metric, on the same measurements and seeds; p after Holm's "
        f"correction over {_comparisons(duels)}. A winner needs an interval without 0 and p below {SIGNIFICANT:g}."
    )
    first = table(_DUEL_HEADER, [_duel_row(duel) for duel in duels], "Best star minus best Markov")
    html = paragraph(words)
    if tuned:
        html += paragraph(f"Outside the grid each process has the settings tuned for it. {'; '.join(tuned)}.")
    html += _FIGURE.format(' id="forest"') + first
    same = {(duel.star.id, duel.markov.id, duel.metric.name) for duel in duels}
    others = [duel for duel in grid if (duel.star.id, duel.markov.id, duel.metric.name) not in same]
    if others:
        rows = [_duel_row(duel) for duel in grid]
        caption = f"Star minus Markov at every point of the grid; p corrected over {_comparisons(grid)}"
        inside = table(_DUEL_HEADER, rows, caption)
        html += f"{_won(grid)}<details><summary>Every point of the grid</summary>{inside}</details>"
    return html


def _comparisons(duels: Sequence[Duel]) -> str:
    count = sum(duel.result is not None for duel in duels)
    return f"{count} comparisons" if count != 1 else "the only comparison"


_DUEL_HEADER = [
    "task and metric",
    "star",
    "Markov",
    "star minus Markov",
    "95 % interval",
    "p (Holm)",
    "pairs",
    "verdict",
]


def _duel_row(duel: Duel) -> list[Entry]:
    result = duel.result
    numbers = (
        ["", "", "", ""]
        if result is None
        else [shown(result.difference.mean), spread(result.difference), p_shown(result.p_corrected), result.pairs]
    )
    return [f"{duel.task} · {duel.metric.name}", duel.star.label, duel.markov.label, *numbers, duel.verdict]


def _won(grid: Sequence[Duel]) -> str:
    lines: list[list[Entry]] = []
    for task, metric in dict.fromkeys((duel.task, duel.metric.name) for duel in grid):
        family = [duel for duel in grid if (duel.task, duel.metric.name) == (task, metric)]
        star, markov = (sum(duel.winner == name for duel in family) for name in ("star", "markov"))
        lines.append([f"{task} · {metric}", star, markov, len(family) - star - markov])
    header = ["task and metric", "star better", "Markov better", "undecided"]
    return table(header, lines, "Points of the grid at which all varied parameters agree")


def _pictures(report: Report) -> str:
    words = (
        "Measurements that the winning settings restore worst, about the median, and best. Columns: truth, "
        "measurement, and the best settings of each process by each metric. Point at a picture to enlarge the same "
        "spot of the whole row; press it to see the row large."
    )
    limits = f"Pictures are at most {LONGEST_SIDE} pixels wide here."
    if report.pictures.left_out:
        limits += f" {report.pictures.left_out} further rows were left out to bound the size of this page."
    return paragraph(words) + f'<p class="note">{limits}</p>' + _CONTROLS + '<div class="gallery"></div>'


def _traces() -> str:
    names = "".join(_FIGURE.format(f' id="{name}"') for name in ("losses", "remasked"))
    words = f"All cells of a task with at most {CELLS_SHOWN}; of more, the best of each process by the first metric."
    return paragraph(words) + f'{_CONTROLS}<div class="two">{names}</div>' + _FIGURE.format(' id="samples"')


def _paper(tables: Sequence[PaperTable]) -> str:
    html = paragraph(
        "Means over 1000 images as printed; the paper does not say which network its LPIPS uses. These numbers show "
        "where the method stands elsewhere; where a mark says so they were not made with the same prior or data, and "
        "the difference to ours means nothing."
    )
    for one in tables:
        marks = "".join(f"<li>{escape(mark)}</li>" for mark in one.marks)
        printed = table(one.header, one.rows, f"{one.task} here, {one.dataset} in the paper")
        printed = printed.replace('<tr><th scope="row">ours', '<tr class="ours"><th scope="row">ours')
        html += f"<h3>{escape(one.task)} and the paper's {escape(one.dataset)}</h3>"
        html += f'<ul class="marks">{marks}</ul>{printed}'
    return html + f'<p class="note">{escape(CITATION)}</p>'


def _cells(report: Report) -> str:
    results, distances = report.results, report.distances
    names = sorted({name for found in distances.values() for name in found})
    header = ["cell", "task", *(metric.name for metric in results.metrics), *names, "s/image", "n", "failed", "id"]
    rows: list[list[Entry]] = []
    for cell in results.cells:
        means = [cell.means.get(metric.name) for metric in results.metrics]
        written = ["-" if mean is None else f"{shown(mean.mean)} {spread(mean)}".strip() for mean in means]
        apart = [str(distances.get(cell.id, {}).get(name, "")) for name in names]
        rows.append([cell.label, cell.task, *written, *apart, shown(cell.seconds, 3), cell.count, cell.failed, cell.id])
    for task, measured in report.measurements.items():
        means = [measured.get(metric.name) for metric in results.metrics]
        written = ["-" if mean is None else f"{shown(mean.mean)} {spread(mean)}".strip() for mean in means]
        count = max((mean.clusters for mean in measured.values()), default=0)
        rows.append(["the measurement itself", task, *written, *[""] * len(names), "", count, "", ""])
    return table(header, rows, "Means with 95 % intervals")


def _ran(facts: Facts) -> str:
    details = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in facts.details.items())
    html = f'<dl class="facts"><dt>results</dt><dd>{escape(facts.where)}</dd>{details}</dl>'
    if facts.failures:
        rows: list[list[Entry]] = [[one.error, one.count, "; ".join(one.examples)] for one in facts.failures]
        html += "<h3>Failures</h3>" + table(["error", "rows", "for example"], rows, "Rows that carry an error")
    return f"{html}<h3>Specification</h3><pre>{escape(facts.specification)}</pre>"
