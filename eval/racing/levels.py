"""One scale for cells that did not all see the same measurements."""

import numpy as np
from numpy.typing import NDArray

from eval.racing.bets import Numbers

_TIED = 1e-6
"""Weight, in measurements, by which every level is held to 0: cells that nothing connects have one all the same."""

_DIGITS = 11
"""Of the largest value, what is told apart: the rest is rounding, which is another on another machine."""


def levels(merits: Numbers) -> Numbers:
    """How good each cell is where measurements differ in how hard they are, up to a constant; (cells, n) -> (cells).

    The least squares of a level per cell plus one per measurement, over the values that are there. A cell without any
    has NaN. Cells are compared on measurements that they share, or through others that share some with both.
    """
    there = np.isfinite(merits)
    hardness = np.where(there, merits, 0.0).sum(0) / np.maximum(there.sum(0), 1)
    centred = np.where(there, merits - hardness, 0.0).sum(1)
    shared = (there / np.maximum(there.sum(0), 1)) @ there.T  # (cells, cells)
    solved: Numbers = np.linalg.pinv(np.diag(there.sum(1)) - shared, hermitian=True) @ centred
    return np.where(there.any(1), solved, np.nan)


def running_levels(merits: Numbers, first: int) -> Numbers:
    """Levels after the first `first` measurements and after each more; (cells, n) -> (n - first + 1, cells).

    As long as every value is there they are the plain means. A cell without any is somewhere.
    """
    there = np.isfinite(merits)
    filled = np.where(there, merits, 0.0)
    counts = np.arange(first, merits.shape[1] + 1)
    sums = np.concatenate([filled[:, :first].sum(1)[:, None], filled[:, first:]], axis=1).cumsum(1)
    found: Numbers = sums.T / np.maximum(counts, 1)[:, None]
    whole = int(there.all(0).cumprod().sum())  # how many come before the first that some cell lacks
    begin = max(first, whole + 1)
    if begin <= merits.shape[1]:
        found[begin - first :] = _solved(filled, there, begin)
    sizes = np.concatenate([[np.abs(filled[:, :first]).max(initial=0.0)], np.abs(filled[:, first:]).max(0)])
    digit = np.maximum.accumulate(sizes)[:, None] * 10.0**-_DIGITS
    return np.round(found / np.where(digit > 0, digit, 1.0)) * digit


def _solved(filled: Numbers, there: NDArray[np.bool_], first: int) -> Numbers:
    """The equations of the least squares grow by a measurement at a time."""
    cells, per = len(filled), np.maximum(there.sum(0), 1)
    centred = np.where(there, filled - filled.sum(0) / per, 0.0)
    begun, right = there[:, :first].astype(np.float64), centred[:, :first].sum(1)
    left = np.diag(begun.sum(1)) - (begun / per[:first]) @ begun.T + 1 / cells + _TIED * np.eye(cells)
    found = [np.linalg.solve(left, right)]
    for place in range(first, filled.shape[1]):
        mask = there[:, place].astype(np.float64)
        left += np.diag(mask) - np.outer(mask, mask) / per[place]
        right += centred[:, place]
        found.append(np.linalg.solve(left, right))
    return np.array(found)
