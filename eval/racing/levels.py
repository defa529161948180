"""One scale for cells that did not all see the same measurements."""

import numpy as np

from eval.racing.bets import Numbers


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
