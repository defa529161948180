"""Figures for papers: the page's own charts with a choice made, and pictures, written as PNG, PDF and SVG."""

import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from itertools import combinations, product
from typing import Any

import vl_convert

from eval.record import SweepRecord
from eval.report.chart_rows import axes, datasets
from eval.report.chart_style import PRINT, Spec, config
from eval.report.content import Report
from eval.report.page_values import charts, settings_together
from eval.report.picture_charts import pictures, snapshots
from eval.report.vega_runtime import VEGA_LITE

KINDS = ("png", "pdf", "svg")


def figures(report: Report) -> Iterator[tuple[str, Spec]]:
    """Names and figures of all a report has to show, each a complete specification."""
    record, known, rows = report.record, charts(report), datasets(report)
    for name, chart, chosen in _chosen(record, known):
        source = chart["data"]["name"]
        here = [row for row in rows[source] if _is_of(row, chosen)]
        if here:
            yield name, _with(chart, chosen, {source: here})
    for task in record.tasks:
        kept = [one for one in report.traces if record.cell(one.cell).task == task and (one.snapshots or one.beside)]
        if kept:
            yield f"snapshots-{task}", snapshots(report, kept)
        shown = [row for row in report.pictures.rows if row.task == task and row.metric == record.judged[0].name]
        if shown:
            yield f"pictures-{task}-{record.judged[0].name}", pictures(report, shown[:6])


def written(figure: Spec, *kinds: str) -> list[bytes]:
    """The contents of files of these kinds, out of `KINDS`."""
    text = json.dumps(figure | {"config": config()})
    printed: dict[str, Any] = json.loads(re.sub(r"var\(--(\w+)\)", lambda found: PRINT[found[1]], text))
    printed["config"] |= {"background": "white", "font": "Helvetica, Arial, sans-serif"}
    svg: str = vl_convert.vegalite_to_svg(printed, vl_version=VEGA_LITE)
    made: dict[str, Callable[[], bytes]] = {
        "svg": svg.encode,
        "pdf": partial(vl_convert.svg_to_pdf, svg),
        "png": partial(vl_convert.svg_to_png, svg, scale=2),
    }
    return [bytes(made[kind]()) for kind in kinds]


def _chosen(record: SweepRecord, known: dict[str, Spec]) -> Iterator[tuple[str, Spec, dict[str, str]]]:
    """A figure's name, its chart, and what is chosen for it."""
    names, both = axes(record), settings_together(record)
    for task, metric in product(record.tasks, record.metrics):
        chosen, what = {"task": task, "metric": metric.name}, f"{task}-{metric.name}"
        for x, y in (pair for pair in combinations(record.shown, 2) if pair in both):
            yield f"heat-{what}-{x}-{y}", known[f"heat/{x}/{y}"], chosen
        for axis in record.shown:
            yield f"marginal-{what}-{axis}", known[f"marginal/{axis}"], chosen
        if len(names) > 2:
            yield f"parallel-{what}", known["parallel"], chosen
        if metric.direction != "none" and "cost/seconds" in known:
            yield f"pareto-{what}", known["cost/seconds"], chosen
        if metric.direction != "none" and "cost/residual" in known:
            yield f"against-residual-{what}", known["cost/residual"], chosen
    if "contrasts" in known:
        yield "contrasts", known["contrasts"], {}
    for task in record.tasks if "residual" in known else ():
        yield f"residual-{task}", known["residual"], {"task": task}
    for task, name in product(record.tasks, (name for name in known if name.startswith("curve/"))):
        yield f"traces-{task}-{name.removeprefix('curve/')}", known[name], {"task": task, "curve": name[6:]}


def _is_of(row: dict[str, Any], chosen: dict[str, str]) -> bool:
    return all(row.get(name, value) == value for name, value in chosen.items())


def _with(chart: Spec, chosen: dict[str, str], rows: dict[str, Any]) -> Spec:
    params = [one | {"value": chosen[one["name"]]} if one["name"] in chosen else one for one in chart["params"]]
    return titled(chart) | {"params": params, "datasets": rows}


def titled(chart: Spec) -> Spec:
    """With its caption in lines, since a title does not wrap by itself."""
    lines = {"expr": "split(replace(caption, '. ', '; '), '; ')"}
    return chart | {"title": chart["title"] | {"text": lines}}
