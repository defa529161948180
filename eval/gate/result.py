"""What the gate found, told to programs (JSON), to build servers (JUnit) and to people (text, Markdown)."""

import json
import re
import xml.etree.ElementTree as xml
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from eval.gate.tolerances import Tolerance
from eval.statistics.bootstrap import Interval

JSON_VERSION = 1
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

    def sentence(self) -> str:
        """The finding in one line, for messages."""
        d = self.difference
        if d is None or self.candidate_mean is None or self.baseline_mean is None:
            return f"{self.metric} of {self.label} is {self.verdict}: {self.reason}"
        known = "" if d.low is None else f" [{d.low:+.4g}, {d.high:+.4g}]"
        more = "" if self.reason is None else f"; {self.reason}"
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

    @property
    def passed(self) -> bool:
        """Nothing regressed, nothing is missing, everything could be compared."""
        return not any(judgement.verdict in _FAILING for judgement in self.judgements)

    @property
    def counts(self) -> dict[Verdict, int]:
        """How often each verdict fell, worst first, without those that did not."""
        found = Counter(judgement.verdict for judgement in self.judgements)
        return {verdict: found[verdict] for verdict in Verdict if found[verdict]}

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
        found = Counter(_junit_outcome(judgement.verdict) for judgement in self.judgements)
        found["error"] += sum(error is not None for error in checks.values())
        totals = {"tests": len(checks) + len(self.judgements)}
        totals |= {f"{kind}s": found[kind] for kind in ("failure", "error")}
        attributes = {key: str(value) for key, value in totals.items()} | {"skipped": str(found["skipped"])}
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

    def to_table(self) -> str:
        """Aligned text, worst first, ending with the summary."""
        lines = [_COLUMNS, *(_row(judgement) for judgement in self._worst_first())]
        widths = [max(len(line[i]) for line in lines) for i in range(len(_COLUMNS))]
        text = ["  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip() for line in lines]
        text += [f"note: {note}" for note in (*self._reasons(), *self.notes)]
        return "\n".join([*text, self.summary()])

    def to_markdown(self) -> str:
        """The same for a pull request or a chat."""
        lines = [_COLUMNS, ("---",) * len(_COLUMNS), *(_row(judgement) for judgement in self._worst_first())]
        table = ["| " + " | ".join(_one_cell(text) for text in line) + " |" for line in lines]
        notes = [f"- {_one_cell(note)}" for note in (*self._reasons(), *self.notes)]
        return "\n".join([f"**{self.summary()}**", "", *table, *([""] if notes else []), *notes]) + "\n"

    def _worst_first(self) -> list[Judgement]:
        order = list(Verdict)
        return sorted(self.judgements, key=lambda judgement: order.index(judgement.verdict))

    def _reasons(self) -> list[str]:
        return [f"{j.metric} of {j.label}: {j.reason}" for j in self._worst_first() if j.reason]


_COLUMNS = ("verdict", "metric", "cell", "baseline", "candidate", "difference", "tolerance", "pairs", "p (Holm)")


def _row(judgement: Judgement) -> tuple[str, ...]:
    d = judgement.difference
    interval = "-" if d is None else f"{d.mean:+.4g}" + ("" if d.low is None else f" [{d.low:+.4g}, {d.high:+.4g}]")
    return (
        judgement.verdict.value,
        judgement.metric,
        judgement.label,
        _number(judgement.baseline_mean, ".5g"),
        _number(judgement.candidate_mean, ".5g"),
        interval,
        str(judgement.tolerance),
        "-" if d is None else str(d.count),
        _number(judgement.p_corrected, ".2g"),
    )


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
    }


def _clean(text: str) -> str:
    """XML has no way to write control characters."""
    return _UNPRINTABLE.sub("?", text)


def _one_cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
