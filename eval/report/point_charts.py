"""Charts with a mark per cell or contrast: quality against cost, contrasts, residuals against the noise."""

from collections.abc import Iterable

from eval.record import SweepRecord
from eval.report.chart_rows import metric_words
from eval.report.chart_style import (
    ARMS,
    EVEN,
    HALO,
    INK,
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

COSTS = {"seconds": "seconds per image", "residual": "residual: distance to the measurement over that of the noise"}
"""What quality is held against, and how its axis is called."""
_DASHED: Spec = {"color": SOFT, "strokeDash": [5, 4], "strokeWidth": 1.5}
_TOLD = {"tooltip": field("told", "nominal")}


def cost(record: SweepRecord, against: str) -> Spec:
    """Every cell by quality and cost; the line joins cells that none beats in both."""
    look, by_time = arm_look(record), against == "seconds"
    residuals = [cell.means["residual"].mean for cell in record.cells if "residual" in cell.means]
    known = [cell.comparable_seconds for cell in record.cells] if by_time else [1.0, *residuals]
    x = {"x": field("x", "quantitative", title=against if not by_time else COSTS[against], scale=linear_or_log(known))}
    y = {"y": field("mean", "quantitative", title=None, scale={"zero": False, "padding": 8})}
    ends = {"y": field("low", "quantitative", title=None), "y2": {"field": "high"}}
    colour = {"color": look.colour("arm")}
    front = [{"filter": "datum.front"}]
    beside = [
        mark("line", x | y | {"order": field("x", "quantitative")}, front, color=SOFT, strokeWidth=1.5, clip=True),
        mark("point", x | y, front, size=320, filled=False, stroke=INK, strokeWidth=1.5, clip=True),
    ] if by_time else [{"data": {"values": [{"x": 1}]}} | mark("rule", x, **_DASHED)]  # fmt: skip
    seen = x | y | colour | {"shape": look.shape("arm")} | _TOLD
    worth = "datum.few ? null : metrics[metric].direction == 'lower' ? -datum.mean : datum.mean"
    told = (
        f"datum.note + '\\n' + metric + ' ' + {number('datum.mean')} + {quoted(f', {against} ')} + {number('datum.x')}"
    )
    order = [{"field": "x", "order": "ascending"}, {"field": "worth", "order": "descending"}]
    chart: Spec = {
        "data": {"name": "cells"},
        "transform": [
            {"filter": f"datum.task == task && datum.metric == metric && isValid(datum.{against})"},
            *calculate(x=f"datum.{against}", worth=worth, told=told),
            {"window": [{"op": "max", "field": "worth", "as": "reach"}], "frame": [None, 0], "sort": order},
            {"window": [{"op": "lag", "field": "reach", "as": "before"}], "sort": order},
            *calculate(
                front="isValid(datum.worth) && (!isValid(datum.before) || datum.worth > datum.before)",
                pareto="datum.front ? 'yes' : ''",
            ),
        ],
        "layer": [
            *beside,
            mark("rule", x | ends | colour, [{"filter": "isValid(datum.low)"}], opacity=0.7, clip=True),
            mark("point", seen, size=90, filled=True, opacity=1, clip=True, name="rows", params=[ZOOM]),
        ],
        "width": 460,
        "height": 300,
    }  # fmt: skip
    seconds = (
        ". Seconds follow from the calls of the networks that a cell needs; "
        "no other cell is both faster and better than a ringed one"
    )
    noise = "; at the dashed line is what the noise alone gives"
    caption = (
        f"metrics[metric].label + {quoted(f' against {COSTS[against]}, every cell of ')} + task + '; ' + "
        f"metrics[metric].better + {quoted(seconds if by_time else noise)}"
    )
    columns = [("'cell'", "note"), (quoted(against), "x"), ("metric", "mean"), ("'low'", "low"), ("'high'", "high")]
    columns += [("'Pareto'", "pareto")] if by_time else []
    choices = {"task": record.tasks[0], "metric": record.judged[0].name, "metrics": metric_words(record)}
    return finished(chart, caption, columns, choices)


def contrasts(record: SweepRecord) -> Spec:
    """Differences to the baseline with 95 % intervals, each on a scale of its own."""
    rivals, baseline = list(dict.fromkeys(one.a for one in record.contrasts)), record.contrasts[0].b
    alone, several = len(rivals) == 1, len(record.arms) > 1
    colours = [ARMS[place % len(ARMS)] if several else EVEN for place in range(len(record.arms))]
    colour = field("winner", "nominal", scale={"domain": ["", *record.arms], "range": [EVEN, *colours]}, legend=None)
    labels = {"labelExpr": "split(datum.label, ' · ')", "domain": False, "ticks": False, "labelLimit": 170}
    y = {"y": field("row", "nominal", sort=None, title=None, axis=labels | {"labelColor": INK})}
    sides = f"← {baseline} better\u2003\u2003{rivals[0] if alone else 'the other'} better →"
    zero = {"values": [0], "labels": False, "ticks": False, "gridDash": [5, 4], "gridColor": SOFT}
    scale = {"title": sides, "scale": {"domain": [-1.25, 1.25]}, "axis": zero}
    at, left, right = (field(name, "quantitative", **scale) for name in ("at", "left", "right"))
    interval = f"' [' + {number('datum.low')} + ', ' + {number('datum.high')} + ']\\n'"
    told = f"datum.row + ': ' + {number('datum.mean')} + {interval} + datum.verdict"
    text = f"(datum.mean > 0 ? '+' : '') + {number('datum.mean', 3)}"
    chart: Spec = {
        "data": {"name": "contrasts"},
        "transform": calculate(told=told, text=text),
        "layer": [
            mark("rule", y | {"x": left, "x2": {"field": "right"}, "color": colour}, strokeWidth=3),
            mark("point", y | {"x": at, "color": colour} | _TOLD, size=100, filled=True, opacity=1, name="rows"),
            mark("text", y | {"x": right, "text": field("text", "nominal")}, align="left", dx=8, color=SOFT),
        ],
        "width": 460,
        "height": {"step": 38 if alone else 46},
    }
    which = f"{rivals[0]} is" if alone else "the other arm is"
    caption = (
        f"{', '.join(rivals)} minus {baseline}, best against best, each row on a scale of its own; "
        f"right of the line {which} better"
    )
    columns = {"contrast": "row", "difference": "mean", "low": "low", "high": "high", "verdict": "verdict"}
    return finished(chart, quoted(caption), [(quoted(title), name) for title, name in columns.items()])


def residuals(record: SweepRecord, values: Iterable[float]) -> Spec:
    """Median, middle half and 90 % of the images of the chosen cells; the band is where 95 % of truths lie."""
    look = arm_look(record)
    bands = {"type": "band", "paddingInner": 0.5, "paddingOuter": 0.6}
    y = {"y": field("label", "nominal", sort=None, axis=None, scale=bands)}
    scale = {"title": "residual", "scale": linear_or_log([1.0, *values]) | {"nice": False}}
    p = {name: field(name, "quantitative", **scale) for name in ("from", "p5", "p25", "p50")}
    colour = {"color": look.colour("arm")}
    told = (
        f"datum.label + '\\nmedian ' + {number('datum.p50')} + ', half of the images in [' + {number('datum.p25')} + "
        f"', ' + {number('datum.p75')} + '], 90 % in [' + {number('datum.p5')} + ', ' + {number('datum.p95')} + ']'"
    )
    named = y | {"x": {"value": 2}, "text": field("label", "nominal")}
    band: list[Spec] = [
        {"filter": "isValid(datum.to)"},
        {"window": [{"op": "row_number", "as": "n"}]},
        {"filter": "datum.n == 1"},
    ]
    chart: Spec = {
        "data": {"name": "residuals"},
        "transform": [{"filter": "datum.task == task"}, *calculate(told=told)],
        "layer": [
            mark("rect", {"x": p["from"], "x2": {"field": "to"}}, band, color=SOFT, opacity=0.18, clip=True),
            {"data": {"values": [{"p50": 1}]}} | mark("rule", {"x": p["p50"]}, **_DASHED),
            mark("rule", y | {"x": p["p5"], "x2": {"field": "p95"}} | colour, strokeWidth=2),
            mark("rule", y | {"x": p["p25"], "x2": {"field": "p75"}} | colour, strokeWidth=8, opacity=0.45),
            mark("point", y | {"x": p["p50"], "shape": look.shape("arm")} | colour | _TOLD, size=90, filled=True,
                 opacity=1, name="rows"),
            *(mark("text", named, align="left", dy=-15, **style) for style in (HALO, {})),
        ],
        "width": 460,
        "height": {"step": 48},
    }  # fmt: skip
    caption = (
        "'Residuals of single images of ' + task + ': median, middle half and 90 %. At 1 a reconstruction is as far "
        "from the measurement as the noise put the truth; the band is where 95 % of truths lie'"
    )
    shares = {"cell": "label", "5 %": "p5", "25 %": "p25", "median": "p50", "75 %": "p75", "95 %": "p95"}
    columns = [(quoted(title), name) for title, name in shares.items()]
    return finished(chart, caption, columns, {"task": record.tasks[0]})
