"""Parts of a page for sections of the caller's own: a table, a line chart, a paragraph. All text is escaped."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from markupsafe import Markup

from eval.report.templating import macro

Entry = str | float | int | None
"""What a table's cell may hold; None is an empty one."""


@dataclass(frozen=True)
class Section:
    """A part of the page below a heading; `html` comes from the builders of this module, other text is escaped."""

    title: str
    html: str
    opens: bool = False
    """It stands before everything else on the page."""


@dataclass(frozen=True)
class Series:
    """One line of a chart; entry i of every list belongs to the same point, and None leaves a gap."""

    name: str
    x: Sequence[float | str]
    """Numbers, or words such as dates, which are spaced evenly."""

    y: Sequence[float | None]
    low: Sequence[float | None] = ()
    """Lower end of the interval around each y; empty where there is none."""

    high: Sequence[float | None] = ()
    arm: str = ""
    """The arm of the sweep that the line is of: it gets that arm's colour, and others a neutral one."""

    marks: str = ""
    """Name of a series of the same chart whose points these ring, in its colour and without a line of their own."""


def paragraph(text: str) -> Markup:
    """Plain words."""
    return macro("parts.html", "paragraph", text)


def table(header: Sequence[str], rows: Sequence[Sequence[Entry]], caption: str) -> Markup:
    """A table whose first column names the row; numbers are set flush right."""
    return macro("parts.html", "table", header, rows, caption)


def line_chart(
    caption: str, x_label: str, y_label: str, series: Sequence[Series], reference: float | None = None
) -> Markup:
    """Lines over a common axis, with the numbers in a table below; `reference` is a level to hold them against."""
    chart = {
        "caption": caption,
        "x": x_label,
        "y": y_label,
        "series": [asdict(one) for one in series],
        "reference": reference,
    }
    rows: list[list[Entry]] = [
        [one.name, _plain(x), y, *([one.low[i], one.high[i]] if one.low and one.high else [None, None])]
        for one in series
        for i, (x, y) in enumerate(zip(one.x, one.y, strict=True))
        if y is not None or not one.marks
    ]
    return macro("parts.html", "line_chart", chart, ["series", x_label, y_label, "low", "high"], rows)


def _plain(x: float | str) -> str:
    return x if isinstance(x, str) else f"{x:g}"
