"""Charts over a grid of settings: heat map over two, curves over one, parallel coordinates over all."""

import json
from collections.abc import Sequence
from typing import Any

from eval.cell_labels import value_words
from eval.record import SweepRecord
from eval.report.chart_rows import axes, axis_values, is_numeric, metric_words, unranked_cells
from eval.report.chart_style import (
    ARM,
    HALO,
    INK,
    RAMP,
    SIDE_BY_SIDE,
    SOFT,
    ZOOM,
    Spec,
    arm_look,
    calculate,
    field,
    finished,
    linear_or_log,
    mark,
    number,
    quoted,
)

STEP = 64
"""Pixels of a tile, unless the page has less room."""
_HERE = "datum.task == task && datum.metric == metric"
_WANTED = f"(arm == {quoted(SIDE_BY_SIDE)} || datum.arm == arm)"
_LABEL, _BETTER, _JUDGES = "metrics[metric].label", "metrics[metric].better", "metrics[metric].direction != 'none'"
_HOW = f"({_JUDGES} ? how : 'mean')"
_BRIGHT = {"scale": {"scheme": "viridis", "domain": [0, 1]}, "legend": None}
_FAINT = {"condition": {"test": "datum.unranked", "value": 0.4}, "value": 1}
"""Of cells that are not ranked."""
_STRONG = {"scale": {"type": "quantize", "domain": [0, 1], "range": RAMP}, "legend": None}
_METRIC = "the metric"
"""The last axis of parallel coordinates; its label is the metric's name."""


def heat_map(record: SweepRecord, x: str, y: str) -> Spec:
    """One number over all other settings, a panel per arm; brighter is better and the best is framed."""
    apart = len(record.arms) > 1 and ARM not in (x, y)
    place = {"x": _discrete(record, "x", x), "y": _discrete(record, "y", y)}
    framed = f"(datum.place == datum.top && datum.single && {_JUDGES})"
    tiles = place | {
        "color": field("share", "quantitative", **_BRIGHT),
        "stroke": {"condition": {"test": f"{framed} || datum.cell == picked", "value": INK}, "value": None},
        "strokeWidth": {"condition": {"test": "datum.cell == picked", "value": 5}, "value": 3},
        "tooltip": field("told", "nominal"),
        "opacity": _FAINT,
    }
    words = place | {
        "text": field("words", "nominal"),
        "tooltip": field("told", "nominal"),
        "color": {"condition": {"test": "datum.share > 0.45", "value": "#111111"}, "value": "#ffffff"},
    }
    told = (
        f"{quoted(x + ' ')} + datum.across + {quoted(f', {y} ')} + datum.down + ': ' + {_INTERVAL} + '\\n' + datum.note"
    )
    few_digits = f"step < 34 ? '' : step < 52 ? {number('datum.value', 3)} : {number('datum.value')}"
    few_digits = f"({few_digits}) + (step >= 34 && datum.unranked ? '*' : '')"
    layers = [mark("rect", tiles, cornerRadius=3, name="rows"), mark("text", words, fontWeight=600, fontSize=12)]
    chart: Spec = {
        "data": {"name": "cells"},
        "transform": [
            {"filter": f"{_HERE} && {_WANTED}"},
            *calculate(x=_setting(x), y=_setting(y), panel="datum.arm" if apart else "''"),
            {"filter": "datum.x !== null && datum.y !== null"},
            *_together(["x", "y", "panel"]),
            _extremes("value", top=("min", "place")),
            *calculate(across=_words(record, x, "datum.x"), down=_words(record, y, "datum.y")),
            *calculate(share=_share("value"), told=told, words=few_digits),
        ],
        "facet": field("panel", "nominal", sort=[*record.arms], header={"title": None}),
        "columns": 2,
        "spec": {"width": {"step": STEP}, "height": {"step": 36}, "layer": layers},
    }
    brighter = f"({_JUDGES} ? 'brighter is better (' + {_BETTER} + '), the best is framed' : 'brighter is larger')"
    caption = f"{_LABEL} + ' for ' + task + {_over(record, [x, y, *([ARM] if apart else [])])} + '; ' + {brighter}"
    if unranked_cells(record):
        caption += " + '; faint, *: not ranked with the others, it saw fewer images'"
    columns = [("'arm'", "panel"), (quoted(x), "across"), (quoted(y), "down"), (_LABEL, "value"), ("'cell'", "note")]
    return finished(chart, caption, columns[not apart :], grid_choices(record) | {"picked": "", "step": STEP})


def marginal(record: SweepRecord, axis: str) -> Spec:
    """One number at every value of a setting, a line per arm; a single cell has its 95 % interval."""
    values, apart, look = axis_values(record, axis), len(record.arms) > 1 and axis != ARM, arm_look(record)
    numeric = is_numeric(values)
    x = field("at", "nominal", title=axis, sort=values, axis={"labelAngle": 0, "labelOverlap": True})
    if numeric:
        ticks = {"values": values, "labelExpr": _words(record, axis, "datum.value")} if len(values) <= 12 else {}
        known = [value for value in values if isinstance(value, int | float)]
        x = field("at", "quantitative", title=axis, scale=linear_or_log(known, 14) | {"nice": False},
                  axis={"labelOverlap": True} | ticks)  # fmt: skip
    level = field("value", "quantitative", title=None, scale={"zero": False})
    colour = {"color": look.colour("series")} if apart else {}
    dash, shape = ({"strokeDash": look.dash("series")}, {"shape": look.shape("series")}) if apart else ({}, {})
    ends = {"y": field("low", "quantitative", title=None), "y2": {"field": "high"}}
    told = f"datum.series + {quoted(f' {axis} ')} + datum.setting + ': ' + {_INTERVAL} + '\\n' + datum.note"
    seen = {"x": x, "y": level, "tooltip": field("told", "nominal"), "opacity": _FAINT} | colour | shape
    noise = {"transform": [{"filter": "metric == 'residual'"}], "data": {"values": [{"value": 1}]}}
    lines = [mark("line", {"x": x, "y": level} | colour | dash, clip=True)] if numeric else []
    every = f"datum.s[{quoted(axis)}] === null ? {json.dumps(values)} : [datum.s[{quoted(axis)}]]"
    chart: Spec = {
        "data": {"name": "cells"},
        "transform": [
            {"filter": f"{_HERE} && {_WANTED}"},
            *calculate(at=every, series="datum.arm" if apart else "''"),
            {"flatten": ["at"]},
            *_together(["at", "series"]),
            *calculate(setting=_words(record, axis, "datum.at")),
            *calculate(told=told),
        ],
        "layer": [
            noise | mark("rule", {"y": level}, color=SOFT, strokeDash=[5, 4], strokeWidth=1.5),
            *lines,
            mark("rule", {"x": x} | ends | colour, [{"filter": "isValid(datum.low)"}], opacity=0.75, clip=True),
            mark("point", seen, size=70, filled=True, opacity=1, clip=True, name="rows",
                 params=[ZOOM] if numeric else []),
        ],
        "width": 420,
        "height": 240,
    }  # fmt: skip
    caption = (
        f"{_LABEL} + {quoted(f' against {axis} for ')} + task + {_over(record, [axis, *([ARM] if apart else [])])}"
        f" + ', with 95 % intervals where one cell is shown; ' + {_BETTER}"
    )
    columns = [("'arm'", "series"), (quoted(axis), "setting"), (_LABEL, "value"), ("'low'", "low"), ("'high'", "high")]
    columns.append(("'cell'", "note"))
    return finished(chart, caption, columns[not apart :], grid_choices(record))


def parallel(record: SweepRecord) -> Spec:
    """Every cell as a line through its settings to its mean; a stronger colour is better."""
    names = axes(record)
    heights, ticks = [], []
    for name in names:
        absent = name != ARM and any(cell.settings[name] is None for cell in record.cells)
        values = [*axis_values(record, name), *([None] if absent else [])]
        top = max(1, len(values) - 1)
        heights.append(f"indexof({json.dumps(values)}, {_setting(name)}) / {top}")
        ticks += [{"stop": name, "height": at / top, "text": value_words(v) or "-"} for at, v in enumerate(values)]
    stop = field(
        "stop", "nominal", title=None, sort=[*names, _METRIC], scale={"type": "point", "padding": 0.3},
        axis={"orient": "top", "grid": True, "labelAngle": 0, "domain": False, "ticks": False, "labelColor": INK,
              "labelPadding": 12, "labelExpr": f"datum.label == {quoted(_METRIC)} ? metric : datum.label"},
    )  # fmt: skip
    place = {"x": stop, "y": field("height", "quantitative", axis=None, scale={"domain": [0, 1]})}
    rise = "(datum.most == datum.least ? 0.5 : (datum.value - datum.least) / (datum.most - datum.least))"
    spread = [
        *calculate(stop=json.dumps([*names, _METRIC]), height=f"[{', '.join([*heights, rise])}]"),
        {"flatten": ["stop", "height"]},
    ]
    last = [
        {"filter": "datum.value == datum.least || datum.value == datum.most"},
        *calculate(stop=quoted(_METRIC), height=rise, text=number("datum.value")),
    ]
    threads = place | {
        "detail": field("cell", "nominal"),
        "order": field("turn", "quantitative"),
        "color": field("share", "quantitative", **_STRONG),
        "tooltip": field("told", "nominal"),
        "opacity": _FAINT,
    }
    words = place | {"text": field("text", "nominal")}
    plain: Spec = {"align": "left", "dx": 5}
    turn = calculate(turn=f"indexof({json.dumps([*names, _METRIC])}, datum.stop)")
    chart: Spec = {
        "data": {"name": "cells"},
        "transform": [
            {"filter": _HERE},
            *calculate(value="datum.mean"),
            _extremes("value"),
            *calculate(share=_share("value"), told=f"datum.note + '\\n' + metric + ' ' + {_INTERVAL}"),
        ],
        "layer": [
            mark("line", threads, [*spread, *turn], opacity=0.8),
            *({"data": {"values": ticks}} | mark("text", words, **style) for style in (plain | HALO, plain)),
            *(mark("text", words, last, **style) for style in (plain | HALO, plain)),
            mark("point", {"x": {"value": 0}, "y": {"value": 0}}, opacity=0, size=1, name="rows"),
        ],
        "width": max(320, 130 * (len(names) + 1)),
        "height": 250,
    }
    stronger = f"({_JUDGES} ? 'the stronger its colour the better' : 'the stronger its colour the larger')"
    caption = f"'Every cell of ' + task + ' as a line through its settings to its ' + metric + '; ' + {stronger}"
    columns = [("'cell'", "note"), (_LABEL, "mean"), ("'low'", "low"), ("'high'", "high")]
    return finished(chart, caption, columns, grid_choices(record))


def grid_choices(record: SweepRecord) -> dict[str, Any]:
    """What a reader of these charts chooses, with what is shown first."""
    return {
        "task": record.tasks[0], "metric": (record.judged or record.metrics)[0].name, "how": "best",
        "arm": SIDE_BY_SIDE, "metrics": metric_words(record),
    }  # fmt: skip


def _together(by: Sequence[str]) -> list[Spec]:
    """Cells that agree in what is shown, as one number: the best of them, or their mean."""
    return [
        {
            "aggregate": [
                {"op": "argmin", "field": "place", "as": "one"},
                {"op": "mean", "field": "mean", "as": "average"},
                {"op": "count", "as": "n"},
                {"op": "min", "field": "place", "as": "place"},
                {"op": "sum", "field": "few", "as": "few"},
            ],
            "groupby": list(by),
        },
        *calculate(
            single=f"datum.n == 1 || {_HOW} == 'best'",
            value="datum.single ? datum.one.mean : datum.average",
            low="datum.single ? datum.one.low : null",
            high="datum.single ? datum.one.high : null",
            cell="datum.one.cell",
            unranked="datum.single ? datum.one.few : datum.few > 0",
            note="datum.single ? datum.one.note : 'mean of ' + datum.n + ' cells'",
        ),
    ]


_INTERVAL = (
    f"{number('datum.value')} + "
    f"(isValid(datum.low) ? ' [' + {number('datum.low')} + ', ' + {number('datum.high')} + ']' : '')"
)


def _extremes(name: str, **more: tuple[str, str]) -> Spec:
    wanted = {"least": ("min", name), "most": ("max", name)} | more
    return {"joinaggregate": [{"op": op, "field": of, "as": known} for known, (op, of) in wanted.items()]}


def _share(name: str) -> str:
    """From worst (0) to best (1); of a metric without better and worse from low to high."""
    up = f"(datum.{name} - datum.least) / (datum.most - datum.least)"
    return f"datum.most == datum.least ? 0.5 : metrics[metric].direction == 'lower' ? 1 - {up} : {up}"


def _over(record: SweepRecord, apart: Sequence[str]) -> str:
    """`: best over gamma`, for the settings that a chart does not tell apart."""
    rest = [name for name in axes(record) if name not in apart]
    return f"': ' + {_HOW} + {quoted(' over ' + ', '.join(rest))}" if rest else "': one cell each'"


def _discrete(record: SweepRecord, name: str, title: str) -> Spec:
    words = _words(record, title, "datum.value")
    axis = {"labelAngle": 0, "labelOverlap": True, "domain": False, "ticks": False, "labelExpr": words}
    return field(name, "ordinal", title=title, sort=axis_values(record, title), axis=axis)


def _words(record: SweepRecord, name: str, value: str) -> str:
    """The expression of a setting's value as labels of cells write it."""
    values = axis_values(record, name)
    return f"{json.dumps([value_words(one) for one in values])}[indexof({json.dumps(values)}, {value})]"


def _setting(name: str) -> str:
    return f"datum.s[{quoted(name)}]"
