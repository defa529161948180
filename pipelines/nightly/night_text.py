"""A night as text, Markdown, JSON and one short message."""

import json
from collections.abc import Sequence
from typing import Any

from eval.gate import Judgement, Verdict
from eval.record.typeset import pipe_table
from pipelines.console.gate_table import gate_lines
from pipelines.console.text_table import text_table
from pipelines.nightly.night import Night
from pipelines.nightly.night_trends import Trend
from pipelines.nightly.records import Level, plain

_BARS = "▁▂▃▄▅▆▇█"
_SHOWN_TRENDS = 24
_SHOWN_FINDINGS = 10
_FAILING = (Verdict.REGRESSED, Verdict.MISSING, Verdict.INCOMPARABLE)


def terminal(night: Night, spec_path: str) -> str:
    """Tables for people, ending with the outcome."""
    parts = [_title(night), *_opening(night, spec_path)]
    if night.gate is not None:
        parts += ["", gate_lines(night.gate)]
    table, left = trend_rows(night.trends)
    if table:
        parts += ["", _trend_title(night.trends), text_table(table, _TREND_HEADER), *left]
    return "\n".join([*parts, "", night.headline()])


def markdown(night: Night, spec_path: str) -> str:
    """The same for a build server's summary or a chat."""
    parts = [f"# {_title(night)}", "", *(f"{line}\n" for line in _opening(night, spec_path))]
    parts += [f"**{night.headline()}**", *([night.gate.to_markdown().partition("\n")[2]] if night.gate else [""])]
    table, left = trend_rows(night.trends)
    if table:
        parts += [f"## {_trend_title(night.trends)}", "", pipe_table(_TREND_HEADER, table), "", *left]
    return "\n".join(parts).rstrip() + "\n"


def verdict_json(night: Night, files: dict[str, str]) -> str:
    """All of it for programs; strict JSON."""
    facts: dict[str, Any] = {
        "night": plain(night.record),
        "baseline": None if night.baseline is None else plain(night.baseline),
        "gate": None if night.gate is None else json.loads(night.gate.to_json()),
        "trend": [trend.plain() for trend in night.trends],
        "headline": night.headline(),
        "solved": night.solved,
        "scores": night.scores_url,
        "files": files,
        "exit_code": night.record.exit_code,
    }
    return json.dumps(facts, indent=1, allow_nan=False)


def message(night: Night) -> str:
    """A few lines for a chat: the outcome, what failed, what changed since the baseline."""
    lines = [f"{_title(night)}: {night.headline()}", *findings(night)]
    if night.gate is not None:
        lines += [note for note in night.gate.notes if note.startswith("since the baseline")]
    return "\n".join(lines)


def findings(night: Night) -> list[str]:
    """Sentences of what failed, at most a screen of them; results that lack for one reason share a sentence."""
    failing = [] if night.gate is None else [j for j in night.gate.judgements if j.verdict in _FAILING]
    groups: dict[str, list[Judgement]] = {}
    for judgement in failing:
        groups.setdefault(judgement.cause or judgement.sentence(), []).append(judgement)
    sentences = [
        group[0].sentence() + (f" (and {len(group) - 1} more like it)" if len(group) > 1 else "")
        for group in groups.values()
    ]
    more = len(sentences) - _SHOWN_FINDINGS
    return sentences[:_SHOWN_FINDINGS] + ([f"... and {more} more"] if more > 0 else [])


_TREND_HEADER = ["metric", "cell", "nights", "tonight", "changes of level"]


def trend_rows(trends: Sequence[Trend]) -> tuple[list[list[str]], list[str]]:
    """Series that changed come first; the rest as far as a screen takes them, and a line on what is left out."""
    ordered = sorted(trends, key=lambda trend: not trend.changes)
    rows = [
        [trend.metric, trend.label, sparkline(trend.levels), _level(trend.levels[-1]), "; ".join(trend.marks()) or "-"]
        for trend in ordered[:_SHOWN_TRENDS]
    ]
    hidden = len(ordered) - len(rows)
    return rows, [f"... and {hidden} series more in verdict.json"] if hidden else []


def sparkline(levels: Sequence[Level | None]) -> str:
    """One bar per night from the lowest mean to the highest; a gap where there is none."""
    means = [level.mean for level in levels if level is not None]
    if not means:
        return " " * len(levels)
    low, high = min(means), max(means)
    flat = high - low <= 1e-9 * max(abs(low), abs(high))  # rounding is no ups and downs
    middle = _BARS[len(_BARS) // 2]
    return "".join(
        " " if level is None else middle if flat else _BARS[round((level.mean - low) / (high - low) * (len(_BARS) - 1))]
        for level in levels
    )


def _title(night: Night) -> str:
    return f"nightly {night.record.name}, night {night.record.night}"


def _opening(night: Night, spec_path: str) -> list[str]:
    record = night.record
    lines = [f"{record.committed} of {record.expected} work items committed, {record.failed} failed"]
    if night.acceptance is not None:
        lines.append(
            f"this night is accepted as baseline {night.acceptance.number} and stays as it is: it was judged again, "
            "and nothing was solved or written; --new evaluates once more"
        )
    elif not night.solved:
        lines.append("nothing was solved: this night was complete already; --new evaluates once more")
    if night.baseline is not None:
        return [*lines, night.baseline.sentence()]
    if record.complete and not record.failed:
        lines.append(
            f"There is no baseline of the name {record.name!r} yet. If these numbers are right, accept them:\n"
            f'  g2d2 nightly accept {spec_path} --night {record.night} --reason "first night"'
        )
    else:
        lines.append(f"There is no baseline of the name {record.name!r} yet, and this night is not whole.")
    return lines


def _trend_title(trends: Sequence[Trend]) -> str:
    nights = len(trends[0].nights)
    return f"trend over {nights} nights" if nights > 1 else "tonight's numbers"


def _level(level: Level | None) -> str:
    if level is None:
        return "-"
    return f"{level.mean:.4g}" + ("" if level.low is None else f" [{level.low:.4g}, {level.high:.4g}]")
