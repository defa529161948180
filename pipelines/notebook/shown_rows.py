"""Results in a row that a notebook shows as a table, and that become an Arrow table or a pandas frame."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, TypeVar, overload

import pyarrow as pa

from eval.record import CellResult, Contrast, SweepRecord
from eval.record.typeset import html
from eval.record.word_tables import WordTable
from pipelines.console.text_table import text_table

_SHOWN = 100
"""Rows of a table in a notebook."""

Result = TypeVar("Result")


class Rows(Sequence[Result], Generic[Result]):
    """A sequence of results, with the words of the terminal's table and the numbers behind them."""

    def __init__(self, results: Sequence[Result], words: WordTable, numbers: Callable[[Result], dict[str, Any]]):
        """`words` has a row for each result first; what it has beyond these stands below them."""
        self._results, self._words, self._numbers = list(results), words, numbers

    @overload
    def __getitem__(self, index: int) -> Result: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Result]: ...
    def __getitem__(self, index: int | slice) -> Result | Sequence[Result]:
        return self._results[index]

    def __len__(self) -> int:
        return len(self._results)

    def __iter__(self) -> Iterator[Result]:
        return iter(self._results)

    def to_arrow(self) -> pa.Table:
        """One row per result, numbers as numbers."""
        rows = [self._numbers(result) for result in self]
        names = list(dict.fromkeys(name for row in rows for name in row))
        return pa.table({name: [row.get(name) for row in rows] for name in names})

    def to_pandas(self) -> Any:
        """The same as a frame."""
        return self.to_arrow().to_pandas()

    def __repr__(self) -> str:
        return f"{self._words.caption}\n{text_table(self._words.rows, self._words.header)}"

    def _repr_html_(self) -> str:
        return str(html(shortened(self._words)))


def shortened(words: WordTable, rows: int = _SHOWN) -> WordTable:
    """The first rows; the caption says how many there are."""
    if len(words.rows) <= rows:
        return words
    caption = f"{words.caption} The first {rows} of {len(words.rows)} rows."
    return WordTable(words.name, caption, words.header, words.rows[:rows])


def cell_numbers(record: SweepRecord, cell: CellResult) -> dict[str, Any]:
    """What a cell is, its means with intervals, distances and costs."""
    numbers: dict[str, Any] = {
        "cell": cell.id, "label": cell.label, "task": cell.task, "arm": cell.arm, "method": cell.method,
        "prior": cell.prior, **cell.settings,
    }  # fmt: skip
    for metric in record.metrics:
        mean = cell.means.get(metric.name)
        ends = (None, None, None) if mean is None else (mean.mean, mean.low, mean.high)
        numbers |= dict(zip((metric.name, f"{metric.name}_low", f"{metric.name}_high"), ends, strict=True))
    for name, one in record.distances.get(cell.id, {}).items():
        numbers |= {name: one.value} | ({} if record.race is None else {f"{name}_images": one.images})
    memory = record.cost(cell, "peak_bytes")
    numbers |= {} if record.race is None else {"race": record.race.marks.get(cell.id)}
    return numbers | {
        "seconds": cell.seconds, "peak_gib": None if memory is None else memory.mean / 2**30,
        "count": cell.count, "failed": cell.failed,
    }  # fmt: skip


def contrast_numbers(one: Contrast) -> dict[str, Any]:
    """a minus b of a metric with its interval, p-values and what they allow to say."""
    names = {"task": one.task, "metric": one.metric.name, "a": one.a, "b": one.b}
    names |= {"cell_a": one.judged_a, "cell_b": one.judged_b}
    result = one.result
    gap = None if result is None else result.difference
    ends = {"difference": gap and gap.mean, "low": gap and gap.low, "high": gap and gap.high}
    values = ("mean_a", "mean_b", "p_value", "p_corrected", "pairs")
    return names | ends | {name: result and getattr(result, name) for name in values} | {"verdict": one.verdict}
