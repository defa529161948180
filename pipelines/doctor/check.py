"""One thing to look at: a function without arguments that answers with a finding."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "note", "fail"]


@dataclass(frozen=True)
class Finding:
    """`ok`, or what to do: a `note` where most work goes on without it, `fail` where nothing will."""

    state: State
    text: str


Check = Callable[[], Finding]


def examine(checks: Iterable[tuple[str, Check]]) -> dict[str, Finding]:
    """Every check's finding by name; one that breaks is a finding too, so that the others are still made."""
    findings = {}
    for name, check in checks:
        try:
            findings[name] = check()
        except Exception as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            findings[name] = Finding("fail", f"the check itself failed: {reason}")
    return findings
