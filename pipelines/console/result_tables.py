"""What a sweep ends with on a terminal: every cell, the contrasts, and what they amount to."""

from collections.abc import Sequence

from eval.record import Contrast, SweepRecord, headline
from eval.record.contrasts import most_images, too_few
from eval.record.headline import added_nothing
from eval.record.word_tables import WordTable, cell_table, contrast_table, point_table, rows_beside, tally_table
from eval.verdicts import SIGNIFICANT
from operators.plurals import counted
from pipelines.console.text_table import text_table

_SHOWN = 40
"""Rows of a table; the report has all."""
_POINTS = 12
"""Points that are shown one by one; of more it is counted what won there."""


def cell_lines(record: SweepRecord, notes: Sequence[str] = ()) -> str:
    """One line per cell and per task's measurements and truths, then what is not complete."""
    table = _lines(cell_table(record), always=len([*rows_beside(record)]))
    return "\n".join([table, *(f"note: {note}" for note in [*notes, *record.notes])])


def contrast_lines(record: SweepRecord) -> str:
    """Tables of the contrasts, best against best and point by point, and the headline; empty where there is none."""
    many = len(record.pointwise) > _POINTS
    families = (record.contrasts, contrast_table), (record.pointwise, tally_table if many else point_table)
    parts = []
    for contrasts, table in families:
        if contrasts:
            made = table(contrasts)
            parts.append("\n".join([made.caption, _lines(made), *_doubt(contrasts)]))
    told = parts or added_nothing(record) or record.race is not None
    return "\n\n".join([*parts, headline(record)]) if told else ""


def _lines(table: WordTable, always: int = 0) -> str:
    """The first rows, and the last few that are always shown."""
    ends = len(table.rows) - always
    left = ends - _SHOWN
    more = f"\n... and {counted(left, 'row')} more in the report" if left > 0 else ""
    return text_table([*table.rows[: min(ends, _SHOWN)], *table.rows[ends:]], table.header) + more


def _doubt(contrasts: Sequence[Contrast]) -> list[str]:
    needed = too_few(contrasts)
    if needed is None:
        return []
    return [f"{most_images(contrasts)} measurements cannot give a p below {SIGNIFICANT:g}, {needed} can."]
