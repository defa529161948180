"""Infinite merits, such as the PSNR of a perfect copy, as numbers that differences and means can be made of."""

from collections.abc import Sequence

import numpy as np

from eval.racing.bets import Numbers


def make_finite(merits: Numbers, racing: Sequence[int], begin: int, end: int, bound: float) -> None:
    """In place, for some measurements: a perfect cell is ahead of the best other by `bound`, and level with its like.

    A difference from it thus counts as the largest there is, and one measurement does not make its mean infinite. What
    cells have that left before is not looked at, since it depends on how much of them was solved.
    """
    part = merits[:, begin:end]
    perfect = np.zeros(part.shape, dtype=bool)
    perfect[racing] = part[racing] == np.inf
    if not perfect.any():
        return
    best = np.where(np.isfinite(part[racing]), part[racing], -np.inf).max(0)
    level = np.where(np.isfinite(best), best, 0.0) + bound
    merits[:, begin:end] = np.where(perfect, level, part)
