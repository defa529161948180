"""Evidence that one cell is better than another, valid however often one looks: a gambler's wealth.

The gambler bets on the sign of the next difference. Under the hypothesis that the mean of the clipped differences is
not above 0, no strategy makes the expected wealth grow, and by Ville's inequality the wealth ever reaches 1/p with
probability at most p, whenever one stops. Several stakes are held at once, so that some of them fit: the average of
wealths is a wealth. (Waudby-Smith and Ramdas, Estimating means of bounded random variables by betting, 2024.)
"""

import numpy as np
from numpy.typing import NDArray

STAKES = np.geomspace(0.005, 0.9, 24)
"""Shares of the wealth that are bet against a difference of `bound`."""

Numbers = NDArray[np.float64]


def log_evidence(differences: Numbers, bound: float) -> Numbers:
    """Logarithm of the wealth after all of them; (..., n) -> (...). A difference that is missing, NaN, is no bet."""
    parts = np.clip(np.nan_to_num(differences, nan=0.0), -bound, bound) / bound
    wealth = np.log1p(STAKES * parts[..., None]).sum(-2)  # (..., stakes)
    average: Numbers = np.logaddexp.reduce(wealth, axis=-1) - np.log(len(STAKES))
    return average
