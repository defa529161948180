"""Times of several calls that take turns, so that a busy machine slows all of them alike."""

import statistics
import time
from collections.abc import Callable, Mapping


def take_turns(calls: Mapping[str, Callable[[], object]], rounds: int, warm_up: bool = True) -> dict[str, list[float]]:
    """Seconds on the clock of every call in every round; an unmeasured round comes first where asked."""
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(rounds + warm_up):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            if turn >= warm_up:
                seconds[name].append(time.perf_counter() - start)
    return seconds


def median_ratio(slow: list[float], fast: list[float]) -> float:
    """Median over rounds of the ratio within a round: what slows a whole round cancels."""
    return statistics.median(a / b for a, b in zip(slow, fast, strict=True))
