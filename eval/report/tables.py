"""Tables for papers: the best settings, star against Markov and every cell, as LaTeX (booktabs) and Markdown."""

from collections.abc import Sequence
from dataclasses import dataclass

from eval.report.findings import best_cells, best_duels
from eval.report.numbers import p_shown, shown, spread
from eval.report.results import Results, worded
from eval.report.summary import ARROWS
from eval.statistics import Interval

_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "↑": r"$\uparrow$", "↓": r"$\downarrow$",
    "<": "$<$", ">": "$>$",
}  # fmt: skip


@dataclass(frozen=True)
class PaperReady:
    """A table of words, before it is written in any language."""

    name: str
    caption: str
    header: list[str]
    rows: list[list[str]]


def tables(results: Results) -> list[PaperReady]:
    """What a results section starts from; a table without rows is left out."""
    found = [_best(results), _duels(results), _cells(results)]
    return [one for one in found if one.rows]


def latex(one: PaperReady) -> str:
    """A booktabs table; needs `\\usepackage{booktabs}`."""
    columns = "l" * (len(one.header) - 1) + "r"
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{_latex(one.caption)}}}",
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        _latex_row(one.header),
        r"\midrule",
        *map(_latex_row, one.rows),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def markdown(one: PaperReady) -> str:
    """A pipe table below its caption."""
    rows = [one.header, ["---"] * len(one.header), *one.rows]
    lines = ["| " + " | ".join(_markdown(entry) for entry in row) + " |" for row in rows]
    return f"{_markdown(one.caption)}\n\n" + "\n".join(lines) + "\n"


def _best(results: Results) -> PaperReady:
    rows = [
        [one.task, one.metric.name, *_settings(results, one.cell.settings), one.of_images, _mean(one.mean)]
        for one in best_cells(results)
    ]
    header = ["task", "metric", *results.axes, "images", "mean [95 %]"]
    return PaperReady("best", "Best settings by mean, with 95 % intervals resampled by image.", header, rows)


def _duels(results: Results) -> PaperReady:
    rows = [
        [duel.task, duel.metric.name, duel.verdict, p_shown(duel.result.p_corrected), _mean(duel.result.difference)]
        for duel in best_duels(results)
        if duel.result is not None
    ]
    caption = "Star minus Markov, each with its best settings, paired by image and seed; p after Holm."
    return PaperReady("star-against-markov", caption, ["task", "metric", "verdict", "p", "difference [95 %]"], rows)


def _cells(results: Results) -> PaperReady:
    rows = []
    for cell in results.cells:
        means = [cell.means.get(metric.name) for metric in results.metrics]
        written = ["" if mean is None else _mean(mean) for mean in means]
        rows.append([cell.task, *_settings(results, cell.settings), *written, shown(cell.seconds, 3)])
    metrics = [f"{metric.name} {ARROWS[metric.direction]}".strip() for metric in results.metrics]
    return PaperReady("cells", "Every cell: means with 95 % intervals.", ["task", *results.axes, *metrics, "s"], rows)


def _settings(results: Results, settings: dict[str, str | int | float | bool | None]) -> list[str]:
    return [worded(settings[name]) for name in results.axes]


def _mean(interval: Interval) -> str:
    return f"{shown(interval.mean)} {spread(interval)}".strip()


def _latex(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in text)


def _latex_row(row: Sequence[str]) -> str:
    # braces keep a bracket at a row's start from being read as an option of the line break before it
    return " & ".join(f"{{{_latex(entry)}}}" if entry.startswith("[") else _latex(entry) for entry in row) + r" \\"


def _markdown(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
    return " ".join(escaped.split())
