"""The benches by name; a bench is a function from an effort to rows of a table."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Effort:
    """How much to measure: `quick` proves that it runs, `full` takes its time."""

    level: Literal["quick", "normal", "full"] = "normal"
    threads: int = 1


Bench = Callable[[Effort], list[dict[str, Any]]]
BENCHES: dict[str, Bench] = {}


def register(name: str) -> Callable[[Bench], Bench]:
    """Add a bench under a name that `--only` knows."""

    def add(bench: Bench) -> Bench:
        BENCHES[name] = bench
        return bench

    return add
