"""What all charts share: names of colours, shapes and dashes, numbers in words, the finished specification.

A chart is one Vega-Lite specification. The page draws it in the reader's colours, figures for papers in those of print.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eval.metrics import MetricInfo
from eval.record import SweepRecord
from eval.record.numbers import is_log

Spec = dict[str, Any]
"""A Vega-Lite specification as JSON; its data is named and joins it where it is drawn."""

ARMS = tuple(f"var(--a{place})" for place in range(6))
OTHERS = tuple(f"var(--s{place})" for place in range(5))
"""Colours of lines that are not told apart by an arm."""
RAMP = [f"var(--r{place})" for place in range(7)]
"""From the least to the most telling of many lines; the last stands out on paper and on a dark page."""
SOFT, INK, CARD, EVEN = "var(--soft)", "var(--ink)", "var(--card)", "var(--even)"
HALO: Spec = {"stroke": CARD, "strokeWidth": 4, "color": CARD}
"""Of words that lie on lines: drawn below them."""
PRINT = {
    "a0": "#0067a8", "a1": "#c44f00", "a2": "#2e7d32", "a3": "#b0194a", "a4": "#795548", "a5": "#5e35b1",
    "s0": "#4b5563", "s1": "#00805f", "s2": "#a8327a", "s3": "#7a6a00", "s4": "#6b4fa0",
    "r0": "#b4bfcc", "r1": "#93abc4", "r2": "#7399bd", "r3": "#5586b3", "r4": "#3972a6", "r5": "#205c93",
    "r6": "#08386b",
    "soft": "#5b616b", "ink": "#1b1d21", "card": "#ffffff", "even": "#6b7280", "line": "#dfe2e6", "shade": "#f1f3f5",
}  # fmt: skip
"""By name, what a colour is on paper; on the page it follows the theme."""
SHAPES = ("circle", "square", "triangle-up", "diamond")
DASHES = ((1, 0), (7, 3), (12, 3, 2, 3), (2, 3))
SIDE_BY_SIDE = "side by side"
ARM = "arm"

_CONFIG: Spec = {
    "background": None,
    "font": "system-ui, sans-serif",
    "view": {"stroke": None},
    "axis": {
        "labelColor": SOFT, "titleColor": INK, "gridColor": "var(--line)", "domainColor": SOFT,
        "tickColor": "var(--line)",
        "labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": 500, "labelFlush": False, "labelSeparation": 10,
    },
    "axisQuantitative": {"tickCount": 6},
    "numberFormat": ".6~g",
    "legend": {"labelColor": INK, "titleColor": INK, "labelFontSize": 12, "labelLimit": 420, "orient": "top",
               "symbolOpacity": 1, "title": None},
    "header": {"labelColor": INK, "labelFontSize": 13, "labelFontWeight": 700, "title": None},
    "title": {"color": INK, "anchor": "start", "fontSize": 12, "fontWeight": 500},
    "text": {"color": INK},
    "rule": {"strokeWidth": 2},
    "aria": False,
    "mark": {"aria": False},
}  # fmt: skip
"""Marks have no names of their own for screen readers: the numbers follow every chart as a table.

Six digits, since by itself an axis rounds to the distance of its ticks: a sole one would read 4 for 3.746.
"""


@dataclass(frozen=True)
class Look:
    """Colours, shapes and dashes of series by name."""

    names: list[str]
    colours: list[str]
    shapes: list[str]
    dashes: list[Sequence[int]]

    def colour(self, name: str) -> Spec:
        return self._channel(name, self.colours)

    def shape(self, name: str) -> Spec:
        return self._channel(name, self.shapes)

    def dash(self, name: str) -> Spec:
        return self._channel(name, [list(dash) for dash in self.dashes])

    def _channel(self, name: str, values: Sequence[Any]) -> Spec:
        across = 1 if max(map(len, self.names), default=0) > 24 else 3
        legend = {"columns": across, "title": None, "symbolStrokeWidth": 0} if len(self.names) > 1 else None
        return field(name, "nominal", scale={"domain": self.names, "range": values}, legend=legend)


def arm_look(record: SweepRecord) -> Look:
    """An arm has its colour and shape everywhere, by its place; a sole one is neutral."""
    several = len(record.arms) > 1
    return Look(
        names=list(record.arms),
        colours=[ARMS[place % len(ARMS)] if several else OTHERS[0] for place in range(len(record.arms))],
        shapes=[SHAPES[place % len(SHAPES)] for place in range(len(record.arms))],
        dashes=[DASHES[place % len(DASHES)] for place in range(len(record.arms))],
    )


def series_look(series: Iterable[tuple[str, str]], arms: Sequence[str]) -> Look:
    """Of names with their arms: an arm's colour or a neutral one; lines of one colour differ in dash and point."""
    known = list(arms) if len(arms) > 1 else []
    look, turns, plain = Look([], [], [], []), Counter[str](), 0
    for name, arm in series:
        place = known.index(arm) if arm in known else None
        colour = OTHERS[plain % len(OTHERS)] if place is None else ARMS[place % len(ARMS)]
        plain += place is None
        turn = turns[colour] + (place or 0)
        turns[colour] += 1
        look.names.append(name)
        look.colours.append(colour)
        look.shapes.append(SHAPES[turn % len(SHAPES)])
        look.dashes.append(DASHES[turn % len(DASHES)])
    return look


def with_unit(metric: MetricInfo) -> str:
    return f"{metric.name} [{metric.unit}]" if metric.unit else metric.name


def number(expression: str, digits: int = 4) -> str:
    """The Vega expression that writes a number as `eval.record.numbers` does."""
    v = expression
    return (
        f"(!isValid({v}) ? '-' : {v} == 0 ? '0' : abs({v}) >= {10 ** (digits - 1)} ? format({v}, '.0f') "
        f": abs({v}) < 0.0001 ? format({v}, '.{digits - 2}e') : format({v}, '.{digits}r'))"
    )


def quoted(text: str) -> str:
    """As a string of a Vega expression."""
    return json.dumps(text)


def field(name: str, kind: str, **more: Any) -> Spec:
    """A channel that shows a field; `kind` is `quantitative`, `nominal` or `ordinal`."""
    return {"field": name, "type": kind, **more}


def mark(
    kind: str, encoding: Spec, transform: Sequence[Spec] = (), *, params: Sequence[Spec] = (), **style: Any
) -> Spec:
    """One layer of a chart."""
    name = {"name": style.pop("name")} if "name" in style else {}
    extra = {"transform": list(transform)} if transform else {}
    return (
        name
        | extra
        | ({"params": list(params)} if params else {})
        | {"mark": {"type": kind, **style}, "encoding": encoding}
    )


def calculate(**expressions: str) -> list[Spec]:
    """Fields by the Vega expressions that make them, in this order."""
    return [{"calculate": expression, "as": name} for name, expression in expressions.items()]


def linear_or_log(values: Iterable[float | None], padding: int = 12) -> Spec:
    """A scale on which all of these can be told apart."""
    return {"type": "log", "padding": padding, "nice": False} if is_log(values) else {"zero": False, "padding": padding}


ZOOM: Spec = {
    "name": "zoom", "bind": "scales",
    "select": {"type": "interval", "encodings": ["x", "y"], "zoom": "wheel![event.shiftKey]"},
}  # fmt: skip
"""Dragging moves the scales, the wheel with Shift held zooms, and a double click sets them back."""


def finished(
    chart: Spec, caption: str, columns: Sequence[tuple[str, str]] = (), choices: Mapping[str, Any] | None = None
) -> Spec:
    """The chart with what can be chosen as parameters, its caption, and the columns of the table of its numbers.

    `caption` and the headers of `columns` are Vega expressions; the second part of a column is a field.
    """
    header = ", ".join(f"[{title}, {quoted(name)}]" for title, name in columns)
    params = [
        *({"name": name, "value": value} for name, value in (choices or {}).items()),
        {"name": "caption", "expr": caption},
        {"name": "columns", "expr": f"[{header}]"},
    ]
    return {**chart, "params": params, "title": {"text": {"expr": "caption"}, "limit": 900}}


def config() -> Spec:
    """What every chart of a page shares."""
    return _CONFIG
