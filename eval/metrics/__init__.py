"""Per-image metrics by name.

The names below load on first use: what a metric is called is known without torch.
"""

from typing import TYPE_CHECKING

from operators.on_first_use import on_first_use

if TYPE_CHECKING:
    from eval.metrics.base import Metric, MetricSettings, Scored, row_problems
    from eval.metrics.needs import check_metric
    from eval.metrics.registry import (
        MetricInfo,
        build_metric,
        metric_info,
        metric_names,
        metric_settings,
        register_metric,
    )
    from eval.metrics.scoring import score

__all__ = [
    "Metric",
    "MetricInfo",
    "MetricSettings",
    "Scored",
    "build_metric",
    "check_metric",
    "metric_info",
    "metric_names",
    "metric_settings",
    "register_metric",
    "row_problems",
    "score",
]

__getattr__ = on_first_use(
    __name__,
    {
        "Metric": "base",
        "MetricInfo": "registry",
        "MetricSettings": "base",
        "Scored": "base",
        "build_metric": "registry",
        "check_metric": "needs",
        "metric_info": "registry",
        "metric_names": "registry",
        "metric_settings": "registry",
        "register_metric": "registry",
        "row_problems": "base",
        "score": "scoring",
    },
)
