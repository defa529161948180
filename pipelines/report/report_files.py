"""Figures and tables of a report as files on this machine."""

import re
from collections.abc import Sequence
from pathlib import Path

from eval.record.leaderboard import leaderboard
from eval.record.typeset import latex, markdown
from eval.record.word_tables import all_tables
from eval.report import Report, Section
from eval.report.figure_files import KINDS, figures, written
from eval.report.section_figures import section_figures
from operators.pictures import write_bytes


def write_figures(report: Report, folder: Path, sections: Sequence[Section] = ()) -> list[Path]:
    """Every figure of the page, those of its further sections too, as PNG, PDF and SVG."""
    contents = {
        f"{name}.{kind}": content
        for name, figure in (*figures(report), *section_figures(sections, report.record.arms))
        for kind, content in zip(KINDS, written(figure, *KINDS), strict=True)
    }
    return _write(contents, folder)


def write_tables(report: Report, folder: Path) -> list[Path]:
    """Every table as LaTeX and Markdown."""
    record = report.record
    tables = [*([leaderboard(record)] if record.judged and len(record.arms) > 1 else []), *all_tables(record)]
    contents = {f"{one.name}.tex": latex(one).encode() for one in tables}
    return _write(contents | {f"{one.name}.md": markdown(one).encode() for one in tables}, folder)


def _write(contents: dict[str, bytes], folder: Path) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, content in contents.items():
        paths.append(folder / re.sub(r"[^\w.-]+", "_", name))  # a task may be called anything
        write_bytes(content, paths[-1])
    return paths
