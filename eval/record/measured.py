"""What the measurements themselves and the true signals are worth, to hold every method against."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eval.statistics import Interval, bootstrap_interval
from eval.statistics.shared_rows import FiniteRows

if TYPE_CHECKING:
    from eval.record.sweep_record import SweepRecord

Means = dict[str, dict[str, Interval]]
"""By task and metric."""


def real_column(metric: str) -> str:
    """Where the metric of the truths stands beside that of the measurements; no metric can be called so."""
    return f"real {metric}"


def measured_means(measured: pa.Table | None, record: "SweepRecord") -> Means:
    """What the measurements show without any method."""
    return _means(measured, record, str)


def real_means(measured: pa.Table | None, record: "SweepRecord") -> Means:
    """What the truths are worth by metrics that look at nothing else."""
    return _means(measured, record, real_column)


def _means(measured: pa.Table | None, record: "SweepRecord", column_of: Callable[[str], str]) -> Means:
    """The mean over the measurements that the cells of a task are ranked on.

    A cell that failed on some would else stand beside a mean over others than its own.
    """
    means: Means = {}
    if measured is None:
        return means
    for task in record.tasks:
        part = measured.filter(pc.equal(measured["task"], task))
        names = np.array(part["measurement"].to_pylist(), dtype=object)
        for info in (one for one in record.metrics if column_of(one.name) in part.column_names):
            metric = info.name
            values = part[column_of(metric)].to_numpy().astype(np.float64)
            shared = set(FiniteRows(record.rankable(task, metric)).measurements.tolist())
            kept = np.array([name in shared for name in names], dtype=bool) & np.isfinite(values)
            if kept.any():
                means.setdefault(task, {})[metric] = bootstrap_interval(values[kept], names[kept], share=info.share)
    return means
