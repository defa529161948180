"""What a gate decided, as text for a terminal."""

from eval.gate import GateResult
from eval.gate.result import COLUMNS
from pipelines.console.text_table import text_table


def gate_lines(result: GateResult) -> str:
    """A line per cell and metric, worst first, then the notes."""
    return "\n".join([text_table(result.rows(), COLUMNS), *(f"note: {note}" for note in result.remarks())])
