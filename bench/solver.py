"""Seconds and peak memory per image: the loop as published against this solver, same prior, steps and iterations.

Seconds are on the clock, with as many threads as asked; the sides take turns and the ratio is taken within a round.
Threads wait for each other: run it on an idle machine, or with `--threads 1` on a busy one.
"""

import statistics
from functools import partial
from typing import Any

from bench.memory import peak_of
from bench.problems import PROBLEMS
from bench.registry import Effort, Ratio, stands_for
from bench.sides import OURS, PUBLISHED, build_side
from bench.timing import median_ratio, take_turns

_PLANS: dict[str, list[tuple[str, float, tuple[int, ...], int]]] = {
    "quick": [("tiny", 5.0, (2,), 1)],
    "normal": [("small", 5.0, (1, 16), 3), ("full", 5.0, (2,), 1)],
    "full": [
        ("small", 5.0, (1, 8, 16, 32), 3),
        ("small", 1.0, (1, 8, 16, 32), 3),  # the published loop still pays for both passes
        ("full", 5.0, (1, 2), 1),
    ],
}
"""Architecture, guidance, batch sizes and rounds."""

_BATCHED = {"architecture": "small", "guidance": 5.0, "batch": 16}
_FULL_SIZE = {"architecture": "full", "batch": 2}


@stands_for(
    Ratio("times faster than published, batch 16", "times_faster", 6.0, unit="times", where=_BATCHED),
    Ratio("share of its memory, batch 16", "share_of_memory", 0.6, "lower", where=_BATCHED),
    Ratio("times faster at full size, batch 2", "times_faster", 1.5, unit="times", where=_FULL_SIZE),
    Ratio("share of its memory at full size", "share_of_memory", 0.6, "lower", where=_FULL_SIZE),
)
def run(effort: Effort) -> list[dict[str, Any]]:
    """One row per architecture, guidance and batch size."""
    return [
        row
        for problem, guidance, batches, rounds in _PLANS[effort.level]
        for row in _compare(problem, guidance, batches, rounds, effort)
    ]


def _compare(name: str, guidance: float, batches: tuple[int, ...], rounds: int, effort: Effort) -> list[dict[str, Any]]:
    problem = PROBLEMS[name]
    published, ours = (build_side(side, problem) for side in (PUBLISHED, OURS))
    calls = {"published": partial(published, 1, guidance)} | {
        str(batch): partial(ours, batch, guidance) for batch in batches
    }
    seconds = take_turns(calls, rounds, warm_up=name != "full")  # minutes of work warm up by themselves
    del published, ours, calls
    memory = _peak(name, PUBLISHED, 1, guidance, effort)
    rows = []
    for batch in batches:
        peak = _peak(name, OURS, batch, guidance, effort)
        per_image = [whole / batch for whole in seconds[str(batch)]]
        rows.append(
            {
                "architecture": name,
                "guidance": guidance,
                "steps": problem.steps,
                "iterations": problem.iterations,
                "batch": batch,
                "published_s_per_image": statistics.median(seconds["published"]),
                "ours_s_per_image": statistics.median(per_image),
                "times_faster": median_ratio(seconds["published"], per_image),
                "published_mib_per_image": memory and memory["peak_mib"],
                "ours_mib_per_image": peak and peak["peak_mib"] / batch,
                "share_of_memory": peak and memory and peak["peak_mib"] / batch / memory["peak_mib"],
                "weights_mib": peak and peak["weights_mib"],
            }
        )
    return rows


def _peak(name: str, side: str, batch: int, guidance: float, effort: Effort) -> dict[str, float] | None:
    if effort.level == "quick":  # a process of its own takes longer to start than all the rest
        return None
    return peak_of(name, side, batch, guidance, effort.threads)
