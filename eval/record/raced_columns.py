"""Which rows of a race may judge two sides of it: cells that left saw fewer measurements than others."""

from collections.abc import Mapping

from eval.record.race_words import RaceWords
from eval.scores import CellValues
from eval.statistics.shared_rows import row_keys, taken

Columns = Mapping[str, CellValues]


def raced_columns(a: Columns, b: Columns, race: RaceWords) -> tuple[Columns, Columns]:
    """Both sides on the rows that the longest runner of each has, and of their cells those that have them all.

    Where both are winners of races apart, these are the rows that confirm them: no cell was chosen on those.
    """
    longest = _longest(a), _longest(b)
    shared = set(row_keys(a[longest[0]])) & set(row_keys(b[longest[1]]))
    aside = [race.confirming.get(cell, frozenset()) for cell in longest]
    if all(aside):
        shared &= {
            key for key, digest in zip(row_keys(a[longest[0]]), a[longest[0]].digests.tolist(), strict=True)
            if digest in aside[0] & aside[1]
        }  # fmt: skip
    sides = []
    for side in (a, b):
        rows = {cell: [row for row, key in enumerate(row_keys(one)) if key in shared] for cell, one in side.items()}
        sides.append({cell: taken(side[cell], own) for cell, own in rows.items() if len(own) == len(shared)})
    return sides[0], sides[1]


def _longest(side: Columns) -> str:
    """The cell that has the most rows; the first of those."""
    return max(side, key=lambda cell: len(side[cell].values))
