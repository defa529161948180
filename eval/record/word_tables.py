"""The tables of a sweep in words: every cell, the best ones, contrasts. Whoever shows them only sets the type."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from eval.cell_labels import value_words
from eval.distribution.results import CellDistance
from eval.record.cell_result import CellResult, adds_nothing
from eval.record.contrasts import Contrast
from eval.record.numbers import mean_words, p_shown, shown
from eval.record.sweep_record import SweepRecord
from eval.statistics import Interval

ARROWS = {"higher": " ↑", "lower": " ↓", "none": ""}
MEASURED = "the measurement itself"
REAL = "the real ones"
"""Stand where a row has its arm."""
INTERVAL = re.compile(r"(\S+) (\[.+\])$")
"""A mean with its interval, which stands below it where lines are short."""
_ALIKE = ("task", "method", "prior", "n", "failed", "pairs", "points", "images")
"""Columns that narrow tables leave to the caption where all rows have the same."""


@dataclass(frozen=True)
class WordTable:
    """Words and numbers as text, before they are set in any language."""

    name: str
    caption: str
    header: list[str]
    rows: list[list[str]]
    bold: frozenset[tuple[int, int]] = frozenset()
    """Row and column of entries that are best, or tie with the best."""

    @property
    def narrowed(self) -> "WordTable":
        """Without the columns that name what was done alike in all rows, which the caption says instead."""
        same = _same_everywhere(self)
        if not same:
            return self
        kept = [place for place in range(len(self.header)) if place not in same]
        named = ", ".join(f"{self.header[place]} {entry}" for place, entry in same.items() if entry != "-")
        return WordTable(
            self.name,
            f"{self.caption} In all rows: {named}." if named else self.caption,
            [self.header[place] for place in kept],
            [[row[place] for place in kept] for row in self.rows],
            frozenset((line, kept.index(place)) for line, place in self.bold if place in kept),
        )


def _same_everywhere(one: WordTable) -> dict[int, str]:
    """Columns of `_ALIKE` with one entry in all rows, and that entry; the measurement itself has no method."""
    found: dict[int, str] = {}
    for place, name in enumerate(one.header):
        entries = {row[place] for row in one.rows}
        entries -= {"-"} if len(entries) > 1 else set()
        if name in _ALIKE and len(entries) == 1 and len(one.rows) > 1:
            found[place] = entries.pop()
    return found


def all_tables(record: SweepRecord) -> list[WordTable]:
    """What a results section starts from; a table without rows is left out."""
    tables = [best_table(record), contrast_table(record.contrasts), point_table(record.pointwise), cell_table(record)]
    return [one for one in tables if one.rows]


def cell_table(record: SweepRecord, ids: bool = False) -> WordTable:
    """Every cell with its means, then what measurements and truths of each task are worth by themselves."""
    names = list(dict.fromkeys(name for distances in record.distances.values() for name in distances))
    columns = _naming_columns(record)
    header = [*columns, *(metric.name + ARROWS[metric.direction] for metric in record.metrics), *names]
    marks = {} if record.race is None else record.race.marks
    header += ["s/image", "n", "failed", *(["race"] if marks else []), *(["id"] if ids else [])]
    rows: list[list[str]] = []
    bold: set[tuple[int, int]] = set()
    for cell in record.cells:
        bold |= {(len(rows), len(columns) + column) for column in leading_columns(record, cell)}
        distances = record.distances.get(cell.id, {})
        rows.append(
            [
                *_naming(cell, columns),
                *_means(record, cell.means),
                *(_distance(distances.get(name), counted=bool(marks)) for name in names),
                "-" if cell.seconds is None else shown(cell.seconds, 3),
                str(cell.solved),
                str(cell.failed),
                *([marks.get(cell.id, "-")] if marks else []),
                *([cell.id] if ids else []),
            ]
        )
    for task, label, means in rows_beside(record):
        count = str(max((mean.clusters for mean in means.values()), default=0) or "-")
        sets = record.real_sets(task) if label == REAL else {}
        told = [f"{sets[name]:.3f}" if name in sets else "-" for name in names]
        rest = ["-"] * (len(columns) - 2), ["-", count, *["-"] * (1 + bool(marks) + ids)]
        rows.append([task, label, *rest[0], *_means(record, means), *told, *rest[1]])
    caption = f"Every cell: means with 95 % intervals; {bold_is(record)}."
    return WordTable("cells", caption, header, rows, frozenset(bold))


def _distance(distance: CellDistance | None, counted: bool) -> str:
    """In a race with how many images it is over, since cells have not as many and the number depends on it."""
    words = "-" if distance is None else str(distance)
    return f"{words} (of {distance.images})" if counted and distance is not None and distance.whole else words


def rows_beside(record: SweepRecord) -> Iterator[tuple[str, str, dict[str, Interval]]]:
    """Task, name and means of what stands beside its cells: the measurements themselves, and the truths."""
    for task in record.tasks:
        if task in record.measurements:
            yield task, MEASURED, record.measurements[task]
        if task in record.real or record.real_sets(task):
            yield task, REAL, record.real.get(task, {})


def best_table(record: SweepRecord) -> WordTable:
    """The winner of every task and metric."""
    header = ["task", "metric", "best", "mean [95 %]", "unit", "images", "tied"]
    header += [*([MEASURED] if record.measurements else []), *([REAL] if record.real else [])]
    rows = [
        [one.task, one.metric.name, one.cell.marked, mean_words(one.mean), one.metric.unit, one.of_images]
        + [f"{one.tied} of {one.rivals}"]
        + (["-" if one.measured is None else shown(one.measured.mean)] if record.measurements else [])
        + (["-" if one.real is None else shown(one.real.mean)] if record.real else [])
        for one in record.best
    ]
    return WordTable("best", "Best cell per task and metric, with 95 % intervals resampled by image.", header, rows)


def contrast_table(contrasts: Sequence[Contrast], how: str = "each at its best") -> WordTable:
    """Best against best, or what `how` says."""
    chosen = ", chosen on other images than it is judged by" if any(one.chosen for one in contrasts) else ""
    caption = f"{_what(contrasts)}, {how}{chosen}; {_family(contrasts)}."
    return WordTable("contrasts", caption, *_contrast_rows(contrasts))


def point_table(contrasts: Sequence[Contrast]) -> WordTable:
    """Cells that differ in nothing else that varies."""
    caption = f"{_what(contrasts)} where all else that varies agrees; {_family(contrasts)}."
    return WordTable("contrasts-by-point", caption, *_contrast_rows(contrasts))


def tally_table(contrasts: Sequence[Contrast]) -> WordTable:
    """At how many points each side won."""
    groups: dict[tuple[str, str, str], list[str | None]] = {}
    for one in contrasts:
        groups.setdefault((one.task, one.metric.name, f"{one.a} - {one.b}"), []).append(one.winner)
    rows = [
        [*key, str(len(won)), *(str(won.count(side)) for side in ("a", "b", None))] for key, won in groups.items()
    ]  # fmt: skip
    caption = f"What won where all else that varies agrees; {_family(contrasts)}."
    header = ["task", "metric", "a - b", "points", "a better", "b better", "undecided"]
    return WordTable("points", caption, header, rows)


def _contrast_rows(contrasts: Sequence[Contrast]) -> tuple[list[str], list[list[str]]]:
    rows = []
    for one in contrasts:
        numbers = ["-"] * 3
        if one.result is not None:
            gap = one.result.difference
            numbers = [mean_words(gap, sign=True), p_shown(one.result.p_corrected), str(one.result.pairs)]
        rows.append(
            [one.task, one.metric.name, one.judged_a or one.a, one.judged_b or one.b, *numbers, one.verdict]
        )  # fmt: skip
    return ["task", "metric", "a", "b", "a - b [95 %]", "p (Holm)", "pairs", "verdict"], rows


def _what(contrasts: Sequence[Contrast]) -> str:
    """`star, wiener minus markov`."""
    return (
        f"{', '.join(dict.fromkeys(one.a for one in contrasts))} minus {contrasts[0].b}" if contrasts else "Contrasts"
    )


def _family(contrasts: Sequence[Contrast]) -> str:
    count = contrasts[0].comparisons if contrasts else 1
    if contrasts and all(one.result is None for one in contrasts):
        return "none of these could be compared"
    return f"p after Holm over {count} comparisons" if count > 1 else "p of the only comparison"


def bold_is(record: SweepRecord) -> str:
    """What stands in bold, for captions."""
    words = "bold is the best of a task, and what its paired 95 % interval does not tell from it"
    return words + (f"; nothing is bold that is not better than {MEASURED}" if record.measurements else "")


def leading_columns(record: SweepRecord, cell: CellResult) -> Iterator[int]:
    """Places among the metrics by which a cell is the best of its task or ties with it, and has gained anything."""
    for place, metric in enumerate(record.metrics):
        if any(one.task == cell.task and one.metric == metric and one.leads(cell.id) for one in record.best):
            measured = record.measurements.get(cell.task, {}).get(metric.name)
            if measured is None or not adds_nothing(cell, metric, measured):
                yield place


def _naming_columns(record: SweepRecord) -> list[str]:
    """What cells are told by, at least task and arm; what follows from these is left out."""
    columns = ["task", "arm" if any(record.arms) else "cell"]
    if any(cell.method != cell.arm for cell in record.cells if cell.method):
        columns.append("method")
    if len({cell.prior for cell in record.cells}) > 1:
        columns.append("prior")
    return [*columns, *(record.shown if any(record.arms) else [])]


def _naming(cell: CellResult, columns: Sequence[str]) -> Iterator[str]:
    fixed = {"task": cell.task, "arm": cell.arm, "cell": cell.marked, "method": cell.method, "prior": cell.prior}
    for name in columns:
        yield (fixed[name] if name in fixed else value_words(cell.settings[name])) or "-"


def _means(record: SweepRecord, means: dict[str, Interval]) -> list[str]:
    columns = [means.get(metric.name) for metric in record.metrics]
    return ["-" if mean is None else mean_words(mean) for mean in columns]
