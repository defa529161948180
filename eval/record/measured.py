"""What the measurements themselves are worth as images, to hold every method against."""

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eval.record.ranking import shared_rows
from eval.statistics import Interval, bootstrap_interval

if TYPE_CHECKING:
    from eval.record.sweep_record import SweepRecord


def measured_means(measured: pa.Table | None, record: "SweepRecord") -> dict[str, dict[str, Interval]]:
    """By task and metric, the mean over the measurements that the cells of the task are ranked on.

    A cell that failed on some would else stand beside a mean over others than its own.
    """
    means: dict[str, dict[str, Interval]] = {}
    if measured is None:
        return means
    for task in record.tasks:
        part = measured.filter(pc.equal(measured["task"], task))
        names = np.array(part["measurement"].to_pylist(), dtype=object)
        for metric in (metric.name for metric in record.metrics if metric.name in part.column_names):
            values = part[metric].to_numpy().astype(np.float64)
            columns = {cell.id: record.values(cell, metric) for cell in record.of_task(task)}
            shared = {name for name, _ in shared_rows(columns)}
            kept = np.array([name in shared for name in names], dtype=bool) & np.isfinite(values)
            if kept.any():
                means.setdefault(task, {})[metric] = bootstrap_interval(values[kept], names[kept])
    return means
