"""Did a change make reconstructions worse? Two scored tables in, a verdict per cell and metric out."""

from eval.gate.cell_pairs import CellPair, pair_cells
from eval.gate.comparison import compare
from eval.gate.result import GateResult, Judgement, Outcome, Verdict
from eval.gate.spared import Spared
from eval.gate.tolerances import Tolerance, default_tolerances, parse_tolerances

__all__ = [
    "CellPair",
    "GateResult",
    "Judgement",
    "Outcome",
    "Spared",
    "Tolerance",
    "Verdict",
    "compare",
    "default_tolerances",
    "pair_cells",
    "parse_tolerances",
]
