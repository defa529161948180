"""Which rows of a race may judge two sides of it: cells that left saw fewer measurements than others."""

from collections.abc import Mapping

from eval.record.race_words import RaceWords
from eval.scores import CellValues
from eval.statistics.shared_rows import Row, row_keys, taken

Columns = Mapping[str, CellValues]


def raced_columns(a: Columns, b: Columns, race: RaceWords) -> tuple[Columns, Columns]:
    """Both sides on the rows that the longest runner of each has, and of their cells those that have them all.

    A winner of a race is judged on those of them that confirm it, as far as there are any: it was not chosen on those.
    A side without such rows keeps all cells that have the rows, so that halves of these choose and judge. Winners that
    nothing confirms together are not compared: on any row that is left one of them was chosen.
    """
    longest = _longest(a), _longest(b)
    shared = set(row_keys(a[longest[0]])) & set(row_keys(b[longest[1]]))
    asides = [
        _aside(side[cell], race.confirming.get(cell, frozenset())) & shared
        for side, cell in zip((a, b), longest, strict=True)
    ]
    shared = shared.intersection(*filter(None, asides))
    sides = []
    for side in (a, b):
        rows = {cell: [row for row, key in enumerate(row_keys(one)) if key in shared] for cell, one in side.items()}
        sides.append({cell: taken(side[cell], own) for cell, own in rows.items() if len(own) == len(shared)})
    return sides[0], sides[1]


def _aside(column: CellValues, digests: frozenset[str]) -> set[Row]:
    """Rows of these measurements."""
    return {key for key, digest in zip(row_keys(column), column.digests.tolist(), strict=True) if digest in digests}


def _longest(side: Columns) -> str:
    """The cell that has the most rows; the first of those."""
    return max(side, key=lambda cell: len(side[cell].values))
