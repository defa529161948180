"""A row's own Gumbel numbers, by hashing against one torch generator per row."""

import statistics
from typing import Any

import torch
from torch import Tensor

from bench.registry import Effort, Ratio, stands_for
from bench.timing import median_ratio, take_turns
from g2d2.randomness import RowRandom

_SHAPES = {"quick": (2, 8, 16), "normal": (16, 256, 256), "full": (16, 256, 256)}
_ROUNDS = {"quick": 2, "normal": 9, "full": 25}


@stands_for(Ratio("torch's generators by hashed numbers", "times_faster", 1.0, unit="times"))
def run(effort: Effort) -> list[dict[str, Any]]:
    """One row: milliseconds per batch of both."""
    rows, *shape = _SHAPES[effort.level]
    hashed = RowRandom(range(rows), "cpu")
    seconds = take_turns(
        {
            "hashed": lambda: hashed.gumbel("relaxation", tuple(shape)),
            "generators": lambda: _generator_gumbel(rows, tuple(shape)),
        },
        _ROUNDS[effort.level],
    )
    return [
        {
            "shape": "x".join(str(side) for side in (rows, *shape)),
            "hashed_ms": 1e3 * statistics.median(seconds["hashed"]),
            "generators_ms": 1e3 * statistics.median(seconds["generators"]),
            "times_faster": median_ratio(seconds["generators"], seconds["hashed"]),
        }
    ]


def _generator_gumbel(rows: int, shape: tuple[int, ...]) -> Tensor:
    """The sequential way: a freshly seeded generator for each row, step and iteration."""
    uniform = torch.stack([torch.rand(shape, generator=torch.Generator().manual_seed(row)) for row in range(rows)])
    return uniform.clamp_(min=2.0**-32).log_().neg_().log_().neg_()
