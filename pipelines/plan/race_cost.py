"""What a safe race typically costs: replayed on made-up grids of its size, which are not the ones that it will meet."""

from dataclasses import replace

import numpy as np

from eval.racing import standing
from eval.racing.made_up_grids import FLAT, SMOOTH, made_up_grid
from pipelines.plan.race_course import Heat

_REPLAYS = 8
_CELLS, _MEASUREMENTS, _ROUNDS = 64, 1024, 64
"""Of a replay, at most: plans of any size are answered in about a second."""

_DB = 4.0
"""The bound of the made-up grids' own unit; another metric's differences are as large beside its bound."""


def typical_cost(heat: Heat, seeds: int) -> tuple[int, int]:
    """Work items on a smooth grid, whose cells differ much, and on a flat one; a race of fixed cost has that."""
    fewest, most = heat.cost(seeds)
    if fewest == most:
        return fewest, most
    smooth, flat = (_replayed(heat, depth) for depth in (SMOOTH, FLAT))
    low, high = (min(max(seeds * items, fewest), most) for items in (smooth, flat))
    return min(low, high), max(low, high)


def _replayed(heat: Heat, depth: float) -> int:
    """The mean of some replays, per seed; whoever is still in where a shortened replay ends sees everything."""
    cells = min(len(heat.cells), _CELLS)
    ends = [end for end in heat.rules.ends if end <= _MEASUREMENTS] or [heat.rules.ends[0]]
    some = np.unique(np.linspace(0, len(ends) - 1, _ROUNDS).astype(int))
    rules = replace(heat.rules, ends=[ends[place] for place in some])
    names, costs = [str(index) for index in range(cells)], []
    for seed in range(_REPLAYS):
        grid = made_up_grid(np.random.default_rng(seed), cells, rules.ends[-1], depth)
        merits = {name: grid * margin.bound / _DB for name, margin in rules.margins.items()}
        over = standing(names, merits, np.ones(grid.shape, dtype=bool), rules)
        last = heat.rules.ends[-1] if len(over.inside) > 1 else rules.ends[over.rounds - 1]
        seen = [departure.seen for departure in over.left] + [last] * len(over.inside)
        costs.append(np.mean(seen) * len(heat.cells) + heat.confirming(last))
    return round(float(np.mean(costs)))
