"""Several metrics over one batch."""

from collections.abc import Sequence

import numpy as np

from eval.metrics.base import Metric, Scored


def score(metrics: Sequence[Metric], scored: Scored) -> dict[str, np.ndarray]:
    """(B,) float64 values by metric name; a bad row is NaN throughout, and `row_problems` says why."""
    return {metric.name: metric(scored).numpy() for metric in metrics}
