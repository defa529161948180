"""One HTML file that needs no network: style, program, values and pictures are all inside."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files

from markupsafe import Markup

from eval.record import headline
from eval.report.content import Report
from eval.report.page_values import embedded, page_values
from eval.report.sections import Section
from eval.report.templating import macro, templates
from eval.report.vega_runtime import runtime
from g2d2.version import __version__

_PROGRAM = ("elements.js", "charts.js", "controls.js", "pictures.js", "explorer.js", "page.js")


@dataclass(frozen=True)
class Part:
    """A section with the anchor and the short title that the navigation shows."""

    anchor: str
    short: str
    title: str
    html: str
    heading: int = 2


def render_page(report: Report, extra_sections: Sequence[Section] = ()) -> bytes:
    """The page as UTF-8; `extra_sections` stand between the sweep's own results and the paper's, or open the page."""
    program = f'(() => {{ "use strict";\n{"".join(asset(name) for name in _PROGRAM)}}})();'
    extra = [
        (one.opens, Part(f"more-{number}", one.title, one.title, one.html))
        for number, one in enumerate(extra_sections, 1)
    ]
    parts = [
        *(part for opens, part in extra if opens),
        *_parts(report, _FIRST),
        *(part for opens, part in extra if not opens),
        *_parts(report, _LAST),
    ]
    return (
        templates()
        .get_template("page.html")
        .render(
            facts=report.facts,
            headline=headline(report.record),
            parts=parts,
            version=__version__,
            style=Markup(asset("report.css")),
            scripts=[Markup(runtime()), Markup(program)],
            data=Markup(embedded(page_values(report))),
        )
        .encode()
    )


def asset(name: str) -> str:
    """A file of this package that goes into the page."""
    return files("eval.report").joinpath("assets", name).read_text(encoding="utf-8")


_FIRST = {
    "summary": ("Summary", ""),
    "best": ("Best", "The best settings"),
    "leaderboard": ("Leaderboard", "The arms side by side"),
    "contrasts": ("Contrasts", "Contrasts"),
    "grid": ("Grid", "Over the grid"),
    "cost": ("Cost", "Quality against seconds"),
    "residual": ("Residual", "Residual against the noise"),
    "pictures": ("Pictures", "Pictures"),
    "explorer": ("Measurements", "Single measurements"),
    "traces": ("Traces", "How solving went"),
}
_LAST = {"paper": ("Paper", "Beside the paper's tables"), "cells": ("Cells", "Every cell"), "ran": ("What ran",) * 2}


def _parts(report: Report, wanted: dict[str, tuple[str, str]]) -> Iterator[Part]:
    """In the order of the page; what a sweep has nothing to show for is left out."""
    for anchor, (short, title) in wanted.items():
        if _shown(report, anchor):
            html = macro("sections.html", anchor, report)
            yield Part(anchor, short, title or headline(report.record), html, 2 if title else 1)


def _shown(report: Report, anchor: str) -> bool:
    record = report.record
    conditions = {
        "leaderboard": bool(record.judged) and len(record.arms) > 1,
        "contrasts": bool(record.contrasts),
        "grid": bool(record.shown) or len(record.arms) > 1,
        "cost": bool(record.judged) and any(cell.comparable_seconds is not None for cell in record.cells),
        "residual": any("residual" in cell.means for cell in record.cells),
        "pictures": bool(report.pictures.rows),
        "traces": bool(report.traces),
        "paper": bool(report.paper),
    }
    return conditions.get(anchor, True)
