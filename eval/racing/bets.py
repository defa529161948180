"""Evidence that a cell is beaten, valid however often one looks: a gambler's wealth.

The gambler bets on the sign of the next difference. Under the hypothesis that its expectation is not above 0, whatever
came before, no strategy makes the expected wealth grow, and by Ville's inequality the wealth ever reaches 1/p with
probability at most p, whenever one stops. His stake may follow from all earlier differences: it is what would have
been best on them, to second order. (Waudby-Smith and Ramdas, Estimating means of bounded random variables by betting,
2024.)
"""

import numpy as np
from numpy.typing import NDArray

LARGEST_STAKE = 0.95
"""Share of the wealth that is bet against a difference of `bound`, at most: one bad measurement ruins nobody."""

_SUM, _SQUARES = 0.05, 0.1
"""What the sums begin with, in units of `bound`: a first stake of a half."""

Numbers = NDArray[np.float64]


def log_wealth(differences: Numbers, bound: float) -> Numbers:
    """Logarithm of the wealth after each of them; (..., n) -> (..., n). One that is missing, NaN, is no bet."""
    parts = np.clip(np.nan_to_num(differences, nan=0.0), -bound, bound) / bound
    sums, squares = _SUM + _before(parts), _SQUARES + _before(parts**2)
    stakes = np.clip(sums / squares, 0.0, LARGEST_STAKE)
    wealth: Numbers = np.log1p(stakes * parts).cumsum(-1)
    return wealth


def log_evidence(chase: Numbers, leads: Numbers, rivals: int, bound: float) -> Numbers:
    """Logarithm of the highest wealth so far of one who halves his money; (..., n) -> (...).

    One half bets that the cell is not the best, on `chase`: the lead of whoever led before each measurement. The other
    is spread over all rivals, and the share of today's leader has been bet on `leads`, his lead plus delta.
    """
    halves = np.logaddexp(log_wealth(chase, bound), log_wealth(leads, bound) - np.log(max(1, rivals)))
    highest: Numbers = halves.max(-1) - np.log(2)
    return highest


def _before(parts: Numbers) -> Numbers:
    """The sum of those that come before each."""
    return parts.cumsum(-1) - parts
