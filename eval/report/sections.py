"""Parts of a page for sections of the caller's own: a table, a line chart, a paragraph. All text is escaped."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from eval.record.word_tables import WordTable
from eval.report.line_charts import Series, handed
from eval.report.templating import macro

__all__ = [
    "Entry", "Section", "Series", "folded", "lead", "line_chart", "link", "paragraph", "table", "warning", "word_table",
]  # fmt: skip

Entry = str | float | int | None
"""What a table's cell may hold; None is an empty one."""


@dataclass(frozen=True)
class Section:
    """A part of the page below a heading; `html` comes from the builders of this module, other text is escaped."""

    title: str
    html: str
    opens: bool = False
    """It stands before everything else on the page."""


def paragraph(text: str) -> Markup:
    """Plain words."""
    return macro("parts.html", "paragraph", text)


def lead(text: str) -> Markup:
    """Plain words below a page's heading."""
    return macro("parts.html", "lead", text)


def warning(text: str) -> Markup:
    """Words that must be seen."""
    return macro("parts.html", "warning", text)


def link(href: str, text: str) -> Markup:
    """A link, for a table's entry too."""
    return macro("parts.html", "link", href, text)


def folded(title: str, inside: Markup) -> Markup:
    """What a reader opens when wanted."""
    return macro("parts.html", "folded", title, inside)


def word_table(one: WordTable) -> Markup:
    """A table of the record, its best entries bold."""
    return macro("parts.html", "word_table", one)


def table(header: Sequence[str], rows: Sequence[Sequence[Entry]], caption: str) -> Markup:
    """A table whose first column names the row; numbers are set flush right."""
    return macro("parts.html", "table", header, rows, caption)


def line_chart(
    caption: str, x_label: str, y_label: str, series: Sequence[Series], reference: float | None = None
) -> Markup:
    """Lines over a common axis, with the numbers in a table below; `reference` is a level to hold them against."""
    spec = handed(caption, x_label, y_label, series, reference)
    rows: list[list[Entry]] = [
        [one.name, _plain(x), y, *([one.low[i], one.high[i]] if one.low and one.high else [None, None])]
        for one in series
        for i, (x, y) in enumerate(zip(one.x, one.y, strict=True))
        if y is not None or not one.marks
    ]
    return macro("parts.html", "line_chart", caption, spec, ["series", x_label, y_label, "low", "high"], rows)


def _plain(x: float | str) -> str:
    return x if isinstance(x, str) else f"{x:g}"
