"""Parts of a report page that are HTML already: a section, a table, a line chart. All text is escaped here."""

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from html import escape

from eval.report.numbers import shown

_NUMERIC = re.compile(r"(?:< )?\[?[+-]?\d[\d.,e+\- \[\]]*$|-$")
Entry = str | float | int | None
"""What a table's cell may hold; None is an empty one."""


@dataclass(frozen=True)
class Section:
    """A part of the page below a heading; `html` comes from the builders of this module, which escape their input."""

    title: str
    html: str


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
    process: str = ""
    """`star` or `markov` where the line is of one: it gets that process's colour, and others a neutral one."""

    marks: str = ""
    """Name of a series of the same chart whose points these ring, in its colour and without a line of their own."""


def paragraph(text: str) -> str:
    """Plain words."""
    return f"<p>{escape(text)}</p>"


def table(header: Sequence[str], rows: Sequence[Sequence[Entry]], caption: str) -> str:
    """A table whose first column names the row; numbers are set flush right."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in header)
    body = "".join(_row(row) for row in rows)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(caption)}"><table>'
        f"<caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def line_chart(
    caption: str, x_label: str, y_label: str, series: Sequence[Series], reference: float | None = None
) -> str:
    """Lines over a common axis, with the numbers in a table below; `reference` is a level to hold them against."""
    chart = {
        "caption": caption,
        "x": x_label,
        "y": y_label,
        "series": [asdict(one) for one in series],
        "reference": reference,
    }
    rows = [
        [one.name, _plain(x), y, *([one.low[i], one.high[i]] if one.low and one.high else [None, None])]
        for one in series
        for i, (x, y) in enumerate(zip(one.x, one.y, strict=True))
        if y is not None or not one.marks
    ]
    numbers = table(["series", x_label, y_label, "low", "high"], rows, caption)
    return (
        f'<figure class="chart" data-lines="{escape(json.dumps(chart))}">'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
        f"<details><summary>The numbers as a table</summary>{numbers}</details>"
    )


def _plain(x: float | str) -> str:
    return x if isinstance(x, str) else f"{x:g}"


def _row(row: Sequence[Entry]) -> str:
    cells = []
    for column, entry in enumerate(row):
        text = entry if isinstance(entry, str) else shown(entry)
        tag, scope = ("th", ' scope="row"') if column == 0 else ("td", "")
        kind = ' class="number"' if column and (not isinstance(entry, str) or _NUMERIC.match(entry)) else ""
        cells.append(f"<{tag}{scope}{kind}>{escape(text)}</{tag}>")
    return f"<tr>{''.join(cells)}</tr>"
