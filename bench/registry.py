"""The benches in the order in which they run, and what each declares: its rows, and the ratios that it stands for."""

import math
import operator
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Literal

SUITE = (
    "solver",
    "operators",
    "randomness",
    "profile",
    "metrics",
    "continuous",
    "groups",
    "pipeline",
    "tracking",
    "report_page",
    "limits",
    "driver",
    "scaling",
    "race_devices",
    "chaos",
    "gate",
    "coverage",
    "selection",
    "racing",
)
"""What a busy machine would spoil first, while what follows still has left nothing behind; simulations last."""

MOST_MINUTES = 40
"""Of a whole normal run on two idle cores."""

Level = Literal["quick", "normal", "full"]
Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Effort:
    """How much to measure: `quick` proves that it runs, `full` takes its time."""

    level: Level = "normal"
    threads: int = 1


@dataclass(frozen=True)
class Ratio:
    """A number that a bench stands for: a column of its rows, and what it should reach at least or at most."""

    name: str
    column: str
    goal: float
    better: Literal["higher", "lower"] = "higher"
    unit: str = ""
    where: Mapping[str, Any] = field(default_factory=dict)
    """Columns and the value, or the tuple of values, that they have in rows that count."""
    over: Literal["one", "last", "lowest", "highest", "mean", "sum"] = "one"
    """What is made of the rows that count; `one` when there is no more than one."""

    def read(self, rows: Rows) -> float | None:
        """None where no row counts, or the number could not be had on this machine."""
        values = [row[self.column] for row in rows if self._counts(row)]
        numbers = [float(value) for value in values if value is not None and not math.isnan(value)]
        if not numbers:
            return None
        if self.over == "one" and len(numbers) > 1:
            raise ValueError(f"ratio '{self.name}': {len(numbers)} rows count, which one does `where` not tell")
        return _MADE_OF[self.over](numbers)

    def _counts(self, row: Mapping[str, Any]) -> bool:
        return all(
            row[name] in value if isinstance(value, tuple) else row[name] == value for name, value in self.where.items()
        )

    def met(self, value: float) -> bool:
        return value >= self.goal if self.better == "higher" else value <= self.goal


_MADE_OF: dict[str, Callable[[Sequence[float]], float]] = {
    "one": operator.itemgetter(0),
    "last": operator.itemgetter(-1),
    "lowest": min,
    "highest": max,
    "mean": statistics.fmean,
    "sum": sum,
}


@dataclass(frozen=True)
class Bench:
    """A function from an effort to rows of a table, with its ratios."""

    run: Callable[[Effort], Rows]
    ratios: tuple[Ratio, ...]

    def __call__(self, effort: Effort) -> Rows:
        return self.run(effort)


def stands_for(*ratios: Ratio) -> Callable[[Callable[[Effort], Rows]], Bench]:
    """Make a bench of a function, by the ratios that it stands for."""
    return lambda run: Bench(run, ratios)


def find_bench(name: str) -> Bench:
    """The bench that a module of this package calls `run`."""
    bench: Bench = import_module(f"bench.{name}").run
    return bench
