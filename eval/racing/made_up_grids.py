"""Scores of grids that nobody solved, to replay races on before anything is solved."""

import math

import numpy as np

from eval.racing.bets import Numbers

SMOOTH, FLAT = 6.0, 0.6
"""How far the worst cell is below the best, in dB."""

_SIDE = 7
_NOISE, _HARDNESS = 0.7, 3.0


def made_up_grid(random: np.random.Generator, cells: int, measurements: int, depth: float) -> Numbers:
    """Of a bowl over two settings, in dB, with paired noise of about one dB; (cells, measurements)."""
    noise = random.normal(0, _NOISE, (cells, measurements))
    return 25 - depth * _bowl(cells)[:, None] + random.normal(0, _HARDNESS, measurements) + noise


def _bowl(cells: int) -> Numbers:
    """From 0 at the best to 1: all places of a square grid, or some of all heights where there are fewer cells."""
    side = np.linspace(-1, 1, max(_SIDE, math.ceil(math.sqrt(cells))))
    heights: Numbers = (side[:, None] ** 2 + side**2).ravel() / 2
    some = np.linspace(0, len(heights) - 1, cells).round().astype(int)
    chosen: Numbers = heights[np.sort(np.argsort(heights, kind="stable")[some])]
    return chosen
