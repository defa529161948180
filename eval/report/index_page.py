"""The page that lists others: the same document as a sweep's own, with sections of the caller's alone."""

from collections.abc import Sequence
from typing import Any

from eval.report.chart_style import config
from eval.report.document import Document, Part, render_document
from eval.report.sections import Section

_LISTS = (
    "tasks",
    "arms",
    "axes",
    "metrics",
    "cells",
    "together",
    "explored",
    "wanted",
    "wanted_cells",
    "rows",
    "traces",
)
_MAPS = ("charts", "datasets", "images")


def render_index(
    name: str, headline: str, state: tuple[str, str], sections: Sequence[tuple[str, Section]], source: str
) -> bytes:
    """The page as UTF-8; each section comes with its short title, and the first one's heading is the headline."""
    parts = [
        Part("summary" if not number else f"part-{number}", short, one.title, one.html, 2 if number else 1)
        for number, (short, one) in enumerate(sections)
    ]
    values: dict[str, Any] = {name: [] for name in _LISTS} | {name: {} for name in _MAPS} | {"config": config()}
    return render_document(Document(name, headline, state, parts, source, values))
