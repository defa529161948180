"""The judgements of a gate, and what they come to as JSON, JUnit, rows of words and Markdown."""

import json
import re
import xml.etree.ElementTree as xml
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from eval.gate.cell_pairs import CellPair
from eval.gate.tolerances import Tolerance
from eval.record.typeset import pipe_table
from eval.statistics.bootstrap import Interval
from operators.plurals import counted

JSON_VERSION = 1
_NAMED = 3
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


class Verdict(StrEnum):
    """Worst first."""

    REGRESSED = "regressed"
    MISSING = "missing"
    INCOMPARABLE = "incomparable"
    UNDECIDED = "undecided"
    IMPROVED = "improved"
    UNCHANGED = "unchanged"


_FAILING = (Verdict.REGRESSED, Verdict.MISSING, Verdict.INCOMPARABLE)


class Outcome(StrEnum):
    """What all verdicts together come to."""

    FAILED = "failed"
    PASSED = "passed"
    PARTLY = "passed as far as decided"
    UNDECIDED = "not decided"


@dataclass(frozen=True)
class Judgement:
    """One metric of one cell."""

    cell: str
    label: str
    metric: str
    verdict: Verdict
    tolerance: Tolerance
    candidate_mean: float | None = None
    baseline_mean: float | None = None
    difference: Interval | None = None
    """Candidate minus baseline, paired."""

    allowed: float | None = None
    """The tolerance in the metric's own unit."""

    p_value: float | None = None
    p_corrected: float | None = None
    reason: str | None = None
    changes: tuple[str, ...] = ()
    """Settings of the candidate's cell that are not the baseline's: `iterations 6 -> 8`."""

    @property
    def cause(self) -> str | None:
        """The reason without what concerns this cell alone, such as its nearest: many results may share it."""
        return None if self.reason is None or self.difference is not None else self.reason.partition(";")[0]

    def remarks(self) -> list[str]:
        """What differs besides the result, and why the verdict is what it is."""
        changed = [f"settings differ: {', '.join(self.changes)}"] if self.changes else []
        return [*changed, *([] if self.reason is None else [self.reason])]

    def sentence(self) -> str:
        """The finding in one line, for messages."""
        d = self.difference
        if d is None or self.candidate_mean is None or self.baseline_mean is None:
            return f"{self.metric} of {self.label} is {self.verdict}: {self.reason}"
        known = "" if d.low is None else f" [{d.low:+.4g}, {d.high:+.4g}]"
        more = "".join(f"; {remark}" for remark in self.remarks())
        return (
            f"{self.metric} of {self.label} is {self.verdict}: {self.baseline_mean:.5g} -> {self.candidate_mean:.5g}, "
            f"{d.mean:+.4g}{known}, tolerance {self.tolerance}, {d.count} pairs, "
            f"corrected p {_number(self.p_corrected, '.2g')}{more}"
        )


@dataclass(frozen=True)
class GateResult:
    """All judgements of a comparison."""

    judgements: tuple[Judgement, ...]
    notes: tuple[str, ...] = ()
    pairs: Mapping[str, CellPair] = field(default_factory=dict)
    """What stood for each cell of the baseline."""

    @property
    def passed(self) -> bool:
        """Nothing regressed, nothing is missing, everything could be compared."""
        return not any(judgement.verdict in _FAILING for judgement in self.judgements)

    @property
    def counts(self) -> dict[Verdict, int]:
        """How often each verdict fell, worst first, without those that did not."""
        counts = Counter(judgement.verdict for judgement in self.judgements)
        return {verdict: counts[verdict] for verdict in Verdict if counts[verdict]}

    @property
    def outcome(self) -> Outcome:
        """Only what was decided is called passed."""
        if not self.passed:
            return Outcome.FAILED
        open_questions = self.counts.get(Verdict.UNDECIDED, 0)
        if not open_questions:
            return Outcome.PASSED
        return Outcome.PARTLY if open_questions < len(self.judgements) else Outcome.UNDECIDED

    def summary(self) -> str:
        """`failed: 1 regressed, 7 unchanged`."""
        return f"{self.outcome}: " + ", ".join(f"{n} {v}" for v, n in self.counts.items())

    def to_json(self) -> str:
        """Strict JSON: what is unknown is null."""
        tests = sum(judgement.p_value is not None for judgement in self.judgements)
        facts = {
            "version": JSON_VERSION,
            "passed": self.passed,
            "outcome": str(self.outcome),
            "counts": {str(verdict): count for verdict, count in self.counts.items()},
            "tests_corrected_for": tests,
            "judgements": [_plain(judgement) for judgement in self.judgements],
            "notes": list(self.notes),
        }
        return json.dumps(facts, indent=1, allow_nan=False)

    def to_junit(self, name: str = "g2d2 compare", checks: Mapping[str, str | None] | None = None) -> str:
        """A case per cell and metric: regressed fails, missing and incomparable are errors, undecided is skipped.

        `checks` are cases of their own before these: a name, and the error it has, if any.
        """
        checks = checks or {}
        outcomes = Counter(_junit_outcome(judgement.verdict) for judgement in self.judgements)
        outcomes["error"] += sum(error is not None for error in checks.values())
        totals = {"tests": len(checks) + len(self.judgements)}
        totals |= {f"{kind}s": outcomes[kind] for kind in ("failure", "error")}
        attributes = {key: str(value) for key, value in totals.items()} | {"skipped": str(outcomes["skipped"])}
        suites = xml.Element("testsuites", attributes)
        suite = xml.SubElement(suites, "testsuite", {"name": name, **attributes})
        for check, error in checks.items():
            case = xml.SubElement(suite, "testcase", {"classname": "g2d2", "name": _clean(check)})
            if error is not None:
                xml.SubElement(case, "error", {"message": _clean(error), "type": _clean(check)})
        for judgement in self.judgements:
            case = xml.SubElement(
                suite, "testcase", {"classname": f"g2d2.{_clean(judgement.metric)}", "name": _clean(judgement.label)}
            )
            sentence, outcome = _clean(judgement.sentence()), _junit_outcome(judgement.verdict)
            if outcome is None:
                xml.SubElement(case, "system-out").text = sentence
            else:
                xml.SubElement(case, outcome, {"message": sentence, "type": judgement.verdict.value})
        xml.indent(suites, " ")
        return xml.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"

    def rows(self) -> list[list[str]]:
        """A line of words per judgement, worst first, below `COLUMNS`."""
        return [_row(judgement) for judgement in self._worst_first()]

    def remarks(self) -> list[str]:
        """What concerns one result or many, each remark once and that of the first, then what concerns all."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for judgement in self._worst_first():
            for remark in judgement.remarks():
                key = judgement.cause if remark == judgement.reason and judgement.cause else remark
                groups.setdefault(key, []).append((f"{judgement.metric} of {judgement.label}", remark))
        remarks = [f"{_listed([result for result, _ in group])}: {group[0][1]}" for group in groups.values()]
        return [*remarks, *self.notes]

    def to_markdown(self) -> str:
        """For a pull request or a chat."""
        notes = [f"- {' '.join(note.split())}" for note in self.remarks()]
        table = pipe_table(COLUMNS, self.rows())
        return "\n".join([f"**{self.summary()}**", "", table, *([""] if notes else []), *notes]) + "\n"

    def _worst_first(self) -> list[Judgement]:
        order = list(Verdict)
        return sorted(self.judgements, key=lambda judgement: order.index(judgement.verdict))


COLUMNS = ("verdict", "metric", "cell", "baseline", "candidate", "difference", "tolerance", "pairs", "p (Holm)")


def _row(judgement: Judgement) -> list[str]:
    d = judgement.difference
    interval = "-" if d is None else f"{d.mean:+.4g}" + ("" if d.low is None else f" [{d.low:+.4g}, {d.high:+.4g}]")
    return [
        judgement.verdict.value,
        judgement.metric,
        judgement.label,
        _number(judgement.baseline_mean, ".5g"),
        _number(judgement.candidate_mean, ".5g"),
        interval,
        str(judgement.tolerance),
        "-" if d is None else str(d.count),
        _number(judgement.p_corrected, ".2g"),
    ]


def _listed(results: Sequence[str]) -> str:
    """All of a few results; of many some and how many more."""
    more = len(results) - _NAMED
    return "; ".join(results[:_NAMED]) + (f" and {counted(more, 'result')} more" if more > 0 else "")


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def _junit_outcome(verdict: Verdict) -> str | None:
    outcomes = {Verdict.REGRESSED: "failure", Verdict.UNDECIDED: "skipped"}
    return "error" if verdict in (Verdict.MISSING, Verdict.INCOMPARABLE) else outcomes.get(verdict)


def _plain(judgement: Judgement) -> dict[str, Any]:
    d = judgement.difference
    return {
        "cell": judgement.cell,
        "label": judgement.label,
        "metric": judgement.metric,
        "verdict": judgement.verdict.value,
        "direction": judgement.tolerance.direction,
        "confidence": judgement.tolerance.confidence,
        "tolerance": judgement.allowed,
        "candidate_mean": judgement.candidate_mean,
        "baseline_mean": judgement.baseline_mean,
        "difference": d and d.mean,
        "low": d and d.low,
        "high": d and d.high,
        "standard_error": d and d.standard_error,
        "pairs": 0 if d is None else d.count,
        "measurements": 0 if d is None else d.clusters,
        "excluded": 0 if d is None else d.excluded,
        "p_value": judgement.p_value,
        "p_corrected": judgement.p_corrected,
        "reason": judgement.reason,
        "changes": list(judgement.changes),
    }


def _clean(text: str) -> str:
    """XML has no way to write control characters."""
    return _UNPRINTABLE.sub("?", text)
