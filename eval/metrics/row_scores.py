"""Several metrics over rows: those of one signal and shape together, whatever the order in which they come."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from eval.metrics.base import RowMetric, Scored
from operators import Operator, stack_operators

Columns = dict[str, NDArray[np.float64]]
"""(B,) values by metric name."""


@dataclass(frozen=True)
class ScoredRow:
    """One row before it joins others of its shape."""

    x: Tensor
    truth: Tensor | None
    operator: Operator
    y: Tensor
    sigma: float
    truth_key: str
    signal: str = "image"

    def _company(self) -> tuple[object, ...]:
        """What must agree within a batch."""
        shapes = tuple(self.x.shape), None if self.truth is None else tuple(self.truth.shape), tuple(self.y.shape)
        return self.signal, *shapes, self.operator.name, type(self.operator)


def score(metrics: Iterable[RowMetric], scored: Scored) -> Columns:
    """Values by metric name; a bad row is NaN throughout, and `row_problems` says why.

    Where there is no truth, metrics that need one are NaN.
    """
    nothing = torch.full((len(scored),), torch.nan, dtype=torch.float64)
    return {
        metric.name: (nothing if scored.truth is None and "truth" in metric.needs else metric(scored)).numpy()
        for metric in metrics
    }


def score_rows(metrics: Sequence[RowMetric], rows: Sequence[ScoredRow]) -> Columns:
    """The same of rows that may differ in shape or lack a truth, in their order."""
    groups: dict[tuple[object, ...], list[int]] = {}
    for place, row in enumerate(rows):
        groups.setdefault(row._company(), []).append(place)
    columns: Columns = {metric.name: np.full(len(rows), np.nan) for metric in metrics}
    for places in groups.values():
        for name, values in score(metrics, stacked([rows[place] for place in places])).items():
            columns[name][places] = values
    return columns


def stacked(rows: Sequence[ScoredRow]) -> Scored:
    """Rows of one signal and shape as a batch."""
    truths = [row.truth for row in rows if row.truth is not None]
    return Scored(
        truth=torch.stack(truths) if truths else None,
        x=torch.stack([row.x for row in rows]),
        truth_keys=[row.truth_key for row in rows],
        operator=stack_operators([row.operator for row in rows]),
        y=torch.stack([row.y for row in rows]),
        sigma=torch.tensor([row.sigma for row in rows], dtype=torch.float64),
        signal=rows[0].signal,
    )
