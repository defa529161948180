"""What a race spared its cells: rows that it never asked for are not missing, and others are compared without them."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from eval.scores import CellValues
from eval.statistics.shared_rows import Row, row_keys, taken


@dataclass(frozen=True)
class Spared:
    """One side of a comparison."""

    rows: Mapping[str, Collection[Row]] = field(default_factory=dict)
    """By cell, rows of its plan that the race left out."""

    marks: Mapping[str, str] = field(default_factory=dict)
    """By cell that left: `left after 24`."""


NOTHING = Spared()
"""Of a sweep without a race."""


def without(column: CellValues, rows: Collection[Row]) -> CellValues:
    """The column without rows that the other side was not asked for."""
    return taken(column, [place for place, key in enumerate(row_keys(column)) if key not in rows]) if rows else column


def mark(candidate: Spared, baseline: Spared, new: str | None, old: str) -> str:
    """` (left after 24)`, ` (left after 24, the baseline after 32)`, or nothing where neither left."""
    now, before = candidate.marks.get(new or "", ""), baseline.marks.get(old, "")
    if not before or before == now:
        return f" ({now})" if now else ""
    return f" ({now}, the baseline {before})" if now else f" (the baseline {before})"
