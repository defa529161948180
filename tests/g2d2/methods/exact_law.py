"""The distribution of a method's result, exactly: for a Gaussian prior most are affine in their normal draws.

x = m + L z for all draws z of a row, so m is the result without noise and the columns of L are the results of unit
impulses minus m. One batch with a row per draw gives mean and covariance to rounding, without Monte Carlo.
"""

import copy

import torch

from g2d2.methods.base import Batch
from g2d2.methods.recording import Recorder


class Impulses:
    """Stands for a batch's draws: row 0 draws zeros, row i one 1 at the i-th number drawn."""

    def __init__(self, rows, dtype=torch.float64):
        self.rows, self.dtype, self.drawn = rows, dtype, 0

    def normal(self, stream, shape, step=0, iteration=0):
        size = int(torch.Size(shape).numel())
        draws = torch.zeros(self.rows, size, dtype=self.dtype)
        for place in range(size):
            row = self.drawn + place + 1
            if row < self.rows:
                draws[row, place] = 1
        self.drawn += size
        return draws.view(-1, *shape)


def make_batch(operator, y, settings, sigma=0.0, seeds=None, dtype=torch.float64, device="cpu"):
    """A batch as `Method.batch` makes it, of one y or several."""
    count = len(y)
    rows = settings if isinstance(settings, list) else [settings] * count
    return Batch(
        copy.deepcopy(operator).to(device, dtype),
        y.to(device, dtype),
        torch.full((count,), sigma, dtype=dtype, device=device),
        rows,
        [""] * count,
        list(seeds or range(count)),
    )


def law(method, prior, operator, y, settings, sigma):
    """Mean (n,) and covariance (n, n) of a method's result for one y (1, ...)."""

    def run(rows):
        batch = make_batch(operator, y.expand(rows, *y.shape[1:]), settings, sigma)
        draws = batch.__dict__["random"] = Impulses(rows)
        return method.restore(prior, batch, Recorder(batch.y.device)).detach().flatten(1), draws.drawn

    _, drawn = run(1)
    x, _ = run(drawn + 1)
    columns = x[1:] - x[0]
    return x[0], columns.T @ columns
