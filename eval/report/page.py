"""The page of a sweep: its sections in their order, with those of the caller among them."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from eval.record import headline
from eval.record.headline import added_nothing, compared
from eval.report.content import Facts, Report
from eval.report.document import Document, Part, render_document
from eval.report.page_values import page_values
from eval.report.sections import Section
from eval.report.templating import macro

PAGE_BYTES = 30_000_000
"""A page is smaller: what does not fit besides all else are scores of single measurements."""


def render_page(report: Report, extra_sections: Sequence[Section] = (), home: str = "") -> bytes:
    """The page as UTF-8; `extra_sections` stand between the sweep's own results and the paper's, or open the page.

    `home` is a relative link to a page that lists this one.
    """
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
    facts = report.facts
    page = Document(facts.name, headline(report.record), _state(facts), parts, facts.where, {}, home)
    room = PAGE_BYTES - len(render_document(page))
    return render_document(replace(page, values=page_values(report, room)))


def _state(facts: Facts) -> tuple[str, str]:
    if facts.missing:
        return "warn", f"not complete: {facts.missing} of {facts.expected} missing"
    return ("bad", f"complete, {facts.failed} failed") if facts.failed else ("good", "complete")


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
            alarm = "" if title else added_nothing(report.record) or ""
            yield Part(anchor, short, title or compared(report.record), html, 2 if title else 1, alarm)


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
