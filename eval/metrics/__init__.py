"""Metrics of rows by name: one class each. Others come as `module:thing` or installed entry points.

The names below load on first use: what a metric is called is known without torch.
"""

from typing import TYPE_CHECKING

from operators.on_first_use import on_first_use

if TYPE_CHECKING:
    from eval.metrics.base import MetricSettings, RowMetric, Scored, row_problems
    from eval.metrics.info import COSTS, MetricInfo
    from eval.metrics.needs import check_metrics
    from eval.metrics.registry import (
        METRICS,
        build_metric,
        column_info,
        default_metrics,
        metric_columns,
        metric_info,
        metric_names,
        metric_settings,
    )
    from eval.metrics.row_scores import ScoredRow, score, score_rows

__all__ = [
    "COSTS",
    "METRICS",
    "MetricInfo",
    "MetricSettings",
    "RowMetric",
    "Scored",
    "ScoredRow",
    "build_metric",
    "check_metrics",
    "column_info",
    "default_metrics",
    "metric_columns",
    "metric_info",
    "metric_names",
    "metric_settings",
    "row_problems",
    "score",
    "score_rows",
]

__getattr__ = on_first_use(
    __name__,
    {
        "COSTS": "info",
        "METRICS": "registry",
        "MetricInfo": "info",
        "MetricSettings": "base",
        "RowMetric": "base",
        "Scored": "base",
        "ScoredRow": "row_scores",
        "build_metric": "registry",
        "check_metrics": "needs",
        "column_info": "registry",
        "default_metrics": "registry",
        "metric_columns": "registry",
        "metric_info": "registry",
        "metric_names": "registry",
        "metric_settings": "registry",
        "row_problems": "base",
        "score": "row_scores",
        "score_rows": "row_scores",
    },
)
