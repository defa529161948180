"""Did a change make reconstructions worse? Two scored tables in, a verdict per cell and metric out."""

from eval.gate.comparison import compare
from eval.gate.result import GateResult, Judgement, Outcome, Verdict
from eval.gate.tolerances import DEFAULT_TOLERANCES, Tolerance, default_tolerances, parse_tolerances

__all__ = [
    "DEFAULT_TOLERANCES",
    "GateResult",
    "Judgement",
    "Outcome",
    "Tolerance",
    "Verdict",
    "compare",
    "default_tolerances",
    "parse_tolerances",
]
