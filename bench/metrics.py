"""Images per second of each per-image metric, and what keeping the features of ground truths saves.

A sweep scores many grid points of the same pictures. Without keys every grid point sends its truths through the
network again; with keys they go through once. Each round has keys of its own, so that the first pass is counted.
"""

import itertools
import statistics
from collections.abc import Callable
from typing import Any

import torch

from bench.registry import Effort, Ratio, stands_for
from bench.timing import median_ratio, take_turns
from eval.metrics import RowMetric, Scored, build_metric, metric_names
from operators import TASKS, InputError, measure

_GRID_POINTS = 8
_SHAPES = {"quick": {32: 2}, "normal": {32: 16}, "full": {32: 16, 256: 2}}
_ROUNDS = {"quick": 1, "normal": 3, "full": 9}


@stands_for(
    Ratio(
        "features of truths kept, lpips_vgg",
        "times_faster",
        1.5,
        unit="times",
        where={"metric": "lpips_vgg", "size": 32},
    )
)
def run(effort: Effort) -> list[dict[str, Any]]:
    """One row per metric and size; metrics whose weights are not on this machine are left out."""
    rows = []
    for side, pictures in _SHAPES[effort.level].items():
        batches = _batches(side, pictures)
        for name in metric_names("image"):
            try:
                metric = build_metric(name)
            except InputError as error:
                print(f"without {name}: {error}")
                continue
            rows.append(_row(metric, batches, side, _ROUNDS[effort.level]))
    return rows


def _row(metric: RowMetric, batches: list[Scored], side: int, rounds: int) -> dict[str, Any]:
    seconds = take_turns({"again": _scores_again(metric, batches), "once": _scores_once(metric, batches)}, rounds)
    images = sum(len(batch) for batch in batches)
    return {
        "metric": metric.name,
        "size": side,
        "pictures": len(batches[0]),
        "grid_points": len(batches),
        "per_second": images / statistics.median(seconds["again"]),
        "per_second_with_keys": images / statistics.median(seconds["once"]),
        "times_faster": median_ratio(seconds["again"], seconds["once"]),
    }


def _batches(side: int, pictures: int) -> list[Scored]:
    """The same truths at every grid point, with other reconstructions."""
    generator = torch.Generator().manual_seed(0)
    task = TASKS[f"gaussian-deblur-{side}"]
    operator = task.build()
    truth = torch.rand(pictures, 3, side, side, generator=generator) * 2 - 1
    y = measure(operator, truth, sigma=task.sigma, seeds=range(pictures))
    sigma = torch.full((pictures,), task.sigma)
    return [
        Scored(truth, truth + 0.1 * torch.randn(truth.shape, generator=generator), operator=operator, y=y, sigma=sigma)
        for _ in range(_GRID_POINTS)
    ]


def _scores_again(metric: RowMetric, batches: list[Scored]) -> Callable[[], None]:
    def score() -> None:
        for batch in batches:
            metric(batch)

    return score


def _scores_once(metric: RowMetric, batches: list[Scored]) -> Callable[[], None]:
    rounds = itertools.count()

    def score() -> None:
        turn = next(rounds)
        for batch in batches:
            keys = [f"round {turn}, picture {row}" for row in range(len(batch))]
            metric(Scored(batch.truth, batch.x, keys, batch.operator, batch.y, batch.sigma))

    return score
