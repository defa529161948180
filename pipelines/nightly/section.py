"""The nightly part of a report: verdicts, and every metric over the last nights."""

from itertools import groupby
from operator import attrgetter

from markupsafe import Markup

from eval.report import Section, Series, line_chart, paragraph, table
from operators.plurals import counted
from pipelines.nightly.night import Night
from pipelines.nightly.night_text import findings
from pipelines.nightly.night_trends import Trend

_MOST_LINES = 12
"""Cells in one chart; those that changed come first."""


def nightly_section(night: Night) -> Section:
    """Ready for `render_sweep(..., extra_sections=[...])`; the page of a failed night opens with it."""
    parts = [paragraph(night.headline()), *map(paragraph, findings(night))]
    if night.baseline is not None:
        parts.append(paragraph(night.baseline.sentence()))
    if night.gate is not None:
        rows: list[list[str | float | int | None]] = [
            [
                j.label,
                j.metric,
                j.verdict.value,
                j.baseline_mean,
                j.candidate_mean,
                str(j.tolerance),
                "; ".join(j.remarks()),
            ]
            for j in night.gate.judgements
        ]
        header = ["cell", "metric", "verdict", "baseline", "tonight", "tolerance", "why"]
        parts += [table(header, rows, "Verdicts"), *map(paragraph, night.gate.remarks())]
    changes: list[list[str | float | int | None]] = [
        [trend.label, trend.metric, trend.nights[c.index], c.before, c.after, c.p_value]
        for trend in night.trends
        for c in trend.changes
    ]
    if changes:
        header = ["cell", "metric", "first night", "level before", "level after", "p"]
        parts.append(table(header, changes, "Changes of level"))
    if night.trends and len(night.trends[0].nights) > 1:
        parts += trend_charts(night.trends)
    failed = night.record.exit_code != 0
    title = f"Nightly: {night.record.night}" + (f", {night.headline()}" if failed else "")
    return Section(title, Markup("\n").join(parts), opens=failed)


def trend_charts(trends: list[Trend]) -> list[Markup]:
    """A chart for each metric, in their order: every cell over nights with its intervals and changes of level."""
    return [_chart(metric, list(group)) for metric, group in groupby(trends, attrgetter("metric"))]


def _chart(metric: str, trends: list[Trend]) -> Markup:
    shown = sorted(trends, key=lambda trend: not trend.changes)[:_MOST_LINES]
    lines = [line for trend in shown for line in _lines(trend)]
    left = "" if len(shown) == len(trends) else f", {len(shown)} of {counted(len(trends), 'cell')}"
    return line_chart(f"{metric} over {counted(len(trends[0].nights), 'night')}{left}", "night", metric, lines)


def _lines(trend: Trend) -> list[Series]:
    """A cell's means with intervals, and its changes of level as points of their own."""
    means = [None if level is None else level.mean for level in trend.levels]
    low = [None if level is None else level.low for level in trend.levels]
    high = [None if level is None else level.high for level in trend.levels]
    lines = [Series(trend.label, trend.nights, means, low, high)]
    if trend.changes:
        places = {change.index for change in trend.changes}
        marked = [mean if index in places else None for index, mean in enumerate(means)]
        lines.append(Series(f"{trend.label}: new level", trend.nights, marked, marks=trend.label))
    return lines
