"""Lines over a common axis: what methods kept while solving, and series that a caller hands over."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from eval.report.chart_style import (
    DASHES,
    OTHERS,
    SHAPES,
    SOFT,
    ZOOM,
    Look,
    Spec,
    calculate,
    field,
    finished,
    linear_or_log,
    mark,
    number,
    quoted,
    series_look,
)
from eval.report.content import Report


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


def curve(report: Report, name: str) -> Spec:
    """A curve that methods kept, over their steps."""
    record = report.record
    able = [one for one in report.traces if one.curves.get(name)]
    cells = [record.cell(one.cell) for one in able]
    look = series_look(dict.fromkeys((cell.label, cell.arm) for cell in cells), record.arms)
    x = field("step", "quantitative", title="step (T first)", scale={"zero": False, "nice": False})
    scale = linear_or_log([value for one in able for value in one.curves[name]], 0)
    y = field("value", "quantitative", title=None, scale=scale)
    chart: Spec = {
        "data": {"name": "curves"},
        "transform": [
            {"filter": f"datum.task == task && datum.curve == {quoted(name)}"},
            *calculate(told=_told("datum.label", "datum.step", "datum.value")),
        ],
        "layer": _lines(look, "label", x, y, dots=False),
        "width": 380,
        "height": 210,
    }
    caption = f"{quoted(f'{name} while solving ')} + task + {quoted(f'; mean of {able[0].rows} measurements')}"
    columns = [("'cell'", "label"), ("'step'", "step"), (quoted(name), "value")]
    return finished(chart, caption, columns, {"task": cells[0].task})


def handed(caption: str, x_label: str, y_label: str, series: Sequence[Series], reference: float | None = None) -> Spec:
    """Series with their own data inside; what is not numbered is spaced evenly."""
    look = _handed_look([one for one in series if not one.marks])
    rows = [_row(one, place) for one in series for place in range(len(one.y))]
    x = field("x", "quantitative", title=x_label, scale={"zero": False, "nice": False, "padding": 10})
    if any(isinstance(row["x"], str) for row in rows):
        order = list(dict.fromkeys(row["x"] for row in rows))
        x = field("x", "ordinal", title=x_label, sort=order, scale={"type": "point", "padding": 0.3},
                  axis={"labelAngle": 0, "labelOverlap": True})  # fmt: skip
    y = field("y", "quantitative", title=None, scale={"zero": False, "padding": 6})
    ends = {"y": field("low", "quantitative", title=None), "y2": {"field": "high"}}
    colour = {"color": look.colour("series")}
    dots = max((len(one.y) for one in series), default=0) <= 40
    rings = {"x": x, "y": y, "tooltip": field("told", "nominal")} | colour
    marked = [{"filter": "datum.marks && isValid(datum.y)"}]
    level = [] if reference is None else [
        {"data": {"values": [{"y": reference}]}}
        | mark("rule", {"y": y}, color=SOFT, strokeDash=[5, 4], strokeWidth=1.5)
    ]  # fmt: skip
    chart: Spec = {
        "data": {"values": rows},
        "transform": calculate(told=_told("datum.name", "datum.x", "datum.y")),
        "layer": [
            *level,
            mark("rule", {"x": x} | ends | colour, [{"filter": "isValid(datum.low)"}], opacity=0.75, clip=True),
            *_lines(look, "series", x, y, dots),
            mark("point", rings, marked, size=260, strokeWidth=2.5, filled=False, opacity=1, name="rings"),
        ],
        "width": 460,
        "height": 230,
    }
    return finished(chart, quoted(caption if y_label in caption else f"{caption} ({y_label})"))


def _lines(look: Look, series: str, x: Spec, y: Spec, dots: bool) -> list[Spec]:
    """Lines that stop at gaps, and their points; of long ones only where a line has no neighbour to go to."""
    place, colour = {"x": x, "y": y}, {"color": look.colour(series)}
    drawn = [{"filter": "!datum.marks"}]
    seen = place | colour | {"tooltip": field("told", "nominal"), "shape": look.shape(series)}
    return [
        mark("line", place | colour | {"strokeDash": look.dash(series)}, drawn, clip=True,
             invalid="break-paths-show-domains"),
        mark("point", seen, [*drawn, {"filter": f"isValid(datum.{y['field']})"}], size=60 if dots else 8, filled=True,
             opacity=1, clip=True, name="rows", params=[ZOOM] if x["type"] == "quantitative" else []),
    ]  # fmt: skip


def _handed_look(series: Sequence[Series]) -> Look:
    """Which arms a page has is known once it is drawn: till then a colour names the arm and what stands for none."""
    turns = range(len(series))
    return Look(
        names=[one.name for one in series],
        colours=[f"arm:{json.dumps([one.arm, one.name, OTHERS[i % len(OTHERS)]])}" for i, one in enumerate(series)],
        shapes=[SHAPES[turn % len(SHAPES)] for turn in turns],
        dashes=[DASHES[turn % len(DASHES)] for turn in turns],
    )


def _told(name: str, x: str, y: str) -> str:
    at = f"(isNumber({x}) ? format({x}, '.4~r') : {x})"
    return f"{name} + '\\n' + {at} + ': ' + {number(y)}"


def _row(one: Series, place: int) -> dict[str, Any]:
    ends = (one.low[place], one.high[place]) if one.low and one.high else (None, None)
    return {
        "series": one.marks or one.name, "name": one.name, "marks": one.marks, "x": one.x[place], "y": one.y[place],
        "low": ends[0], "high": ends[1],
    }  # fmt: skip
