"""One metric of one cell, row by row: what every statistic is made of."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

ENOUGH = 0.9
"""A cell can be chosen if it has at least this share of the fullest cell's finite values."""


@dataclass(frozen=True)
class CellValues:
    """One metric of one cell; entry i of every array belongs to the same work item."""

    label: str
    metric: str
    measurements: NDArray[np.object_]
    seeds: NDArray[np.int64]
    digests: NDArray[np.object_]
    """Content hash of each measurement; None where it was not recorded."""

    failed: NDArray[np.bool_]
    """The work item carries an error."""

    values: NDArray[np.float64]
    """NaN where the item failed."""

    @property
    def finite(self) -> NDArray[np.bool_]:
        """Which entries can be averaged."""
        return np.isfinite(self.values)

    @property
    def failed_count(self) -> int:
        return int(self.failed.sum())

    @property
    def non_finite_count(self) -> int:
        """Values that are NaN or infinite although the item was solved, such as the PSNR of a perfect copy."""
        return int((~self.finite & ~self.failed).sum())


class CellColumns(Mapping[str, CellValues]):
    """One metric of some cells, each made when it is asked for: a grid's need not be in memory together."""

    def __init__(self, cells: Iterable[str], values: Callable[[str], CellValues]) -> None:
        self._cells, self._values = dict.fromkeys(cells), values

    def __getitem__(self, cell: str) -> CellValues:
        if cell not in self._cells:
            raise KeyError(cell)
        return self._values(cell)

    def __iter__(self) -> Iterator[str]:
        return iter(self._cells)

    def __len__(self) -> int:
        return len(self._cells)
