"""Rows that are multiplied by a matrix in company, so that a CPU rounds them alike however many there are.

Which algorithm multiplies few rows, and how few they are, depends on the processor and on the matrix: on those seen
here fewer than 4 to fewer than 16.
"""

import torch
from torch import Tensor

ENOUGH_ROWS = 16
"""As many or more are multiplied alike."""


def in_company(rows: Tensor) -> Tensor:
    """The rows (n, k), followed by copies of the first where they are few; these take no gradient."""
    return torch.cat([rows, rows[:1].detach().expand(ENOUGH_ROWS - len(rows), -1)])


def times(x: Tensor, matrix: Tensor) -> Tensor:
    """x @ matrix, (.., k) by (k, n)."""
    count = x.shape[:-1].numel()
    if x.device.type != "cpu" or not 0 < count < ENOUGH_ROWS:
        return x @ matrix
    return (in_company(x.reshape(count, -1)) @ matrix)[:count].reshape(*x.shape[:-1], -1)
