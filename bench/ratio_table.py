"""The one table that a run ends with: every ratio, its goal, what was accepted last, and what to think of both."""

from collections.abc import Sequence

from bench.accepted import Accepted, AcceptedBench
from bench.registry import MOST_MINUTES, SUITE
from bench.result import Measured, Result
from bench.text_table import number, text_table

LEFT = ("bench", "ratio", "change")
_SAME = 0.005
"""A change that rounds to no per cent."""


def summary(results: Sequence[Result], accepted: Accepted | None) -> str:
    """The table and the sentences under it."""
    before = accepted if accepted is not None and {result.level for result in results} == {accepted.level} else None
    rows = [row for result in results for row in _rows(result, before)]
    return "\n".join([text_table(rows, LEFT), "", *_sentences(results, accepted)])


def _rows(result: Result, accepted: Accepted | None) -> list[dict[str, str]]:
    before = accepted.benches.get(result.bench) if accepted is not None else None
    name = f"{result.bench} *" if result.disturbed else result.bench
    known = before.ratios if before is not None else {}
    if result.error is not None:
        return [_row(name, "failed", change=f"{len(known)} not compared" if known else "")]
    rows = [
        _row(
            name,
            ratio.name,
            value=_with_unit(ratio.value, ratio.unit),
            goal=f"{'>=' if ratio.better == 'higher' else '<='} {_short(ratio.goal)}",
            met=_verdict(ratio, result),
            accepted=_accepted(ratio.name, before),
            change=change(ratio, known) if accepted is not None else "",
        )
        for ratio in result.ratios
    ]
    gone = known.keys() - {ratio.name for ratio in result.ratios}
    return rows + [_row(name, old, accepted=_accepted(old, before), change="gone") for old in known if old in gone]


def _row(bench: str, ratio: str, **cells: str) -> dict[str, str]:
    return {"bench": bench, "ratio": ratio} | {
        column: cells.get(column, "-") for column in ("value", "goal", "met", "accepted", "change")
    }


def _verdict(ratio: Measured, result: Result) -> str:
    if ratio.met is None or result.level == "quick":
        return "-"
    return "yes" if ratio.met else "NO"


def change(ratio: Measured, known: dict[str, float | None]) -> str:
    """In per cent of what was accepted, or as a difference where that was zero; and which way it goes."""
    before = known.get(ratio.name)
    if ratio.value is None:
        return "not measured" if before is not None else "-"
    if before is None:
        return "new"
    moved = ratio.value - before
    share = moved / abs(before) if before else moved
    if abs(share) < _SAME:
        return "same"
    way = "better" if (moved > 0) == (ratio.better == "higher") else "worse"
    return f"{100 * share:+.0f} % {way}" if before else f"{moved:+.2g} {way}"


def _accepted(name: str, before: AcceptedBench | None) -> str:
    value = before.ratios.get(name) if before is not None else None
    if before is None or value is None:
        return "-"
    return number(value) + (" *" if before.disturbed else "")


def _with_unit(value: float | None, unit: str) -> str:
    return "-" if value is None else f"{number(value)} {unit}".rstrip()


def _short(value: float) -> str:
    return f"{value:,.0f}".replace(",", " ") if abs(value) >= 1000 else f"{value:g}"


def _sentences(results: Sequence[Result], accepted: Accepted | None) -> list[str]:
    return [*_goals(results), *_against(results, accepted), *_disturbances(results, accepted), *_ends(results)]


def _goals(results: Sequence[Result]) -> list[str]:
    if any(result.level == "quick" for result in results):
        return ["goals: not judged by a quick run, which only shows that every bench runs"]
    judged = [ratio for result in results for ratio in result.ratios if ratio.met is not None]
    without = sum(len(result.ratios) for result in results) - len(judged)
    left = f"; {without} could not be measured here" if without else ""
    return [f"goals: {sum(ratio.met is True for ratio in judged)} of {len(judged)} met{left}"]


def _against(results: Sequence[Result], accepted: Accepted | None) -> list[str]:
    if accepted is None:
        return ["accepted: nothing yet; `python -m bench --accept` writes bench/accepted.json from a whole run"]
    lines = [f"accepted: commit {accepted.commit} of {accepted.date}, level {accepted.level}"]
    levels = {result.level for result in results} - {accepted.level}
    if levels:
        return [*lines, f"accepted: not compared, since this run is of level {', '.join(sorted(levels))}"]
    different = dict.fromkeys("; ".join(result.machine.differences(accepted.machine)) for result in results)
    lines += [f"accepted: on another machine ({how}): changes are of both code and machine" for how in different if how]
    return lines if any(different) else [*lines, "accepted: on a machine of the same kind"]


def _disturbances(results: Sequence[Result], accepted: Accepted | None) -> list[str]:
    """Benches beside which other work ran, now or when they were accepted."""
    now = {result.bench: result for result in results if result.disturbed}
    names = {result.bench for result in results}
    then = {} if accepted is None else {n: one for n, one in accepted.benches.items() if one.disturbed and n in names}
    lines = []
    for when, found in (("", now), (" when it was accepted", then)):
        for name, one in found.items():
            lines.append(
                f"* {name}{when}: other work kept {100 * one.busy:.0f} % of the cores busy (load {one.load[0]:.1f}); "
                "its times tell little"
            )
    return lines


def _ends(results: Sequence[Result]) -> list[str]:
    minutes = sum(result.seconds for result in results) / 60
    highest = max(max(result.load) for result in results)
    count = f"{len(results)} bench{'es' if len(results) > 1 else ''}"
    whole = f"{count} in {minutes:.1f} minutes, load up to {highest:.1f}"
    if [(result.bench, result.level) for result in results] == [(name, "normal") for name in SUITE]:
        whole += f"; all of them are to take less than {MOST_MINUTES} minutes on two idle cores"
    return [whole, *(f"failed: {result.bench}: {result.error}" for result in results if result.error is not None)]
