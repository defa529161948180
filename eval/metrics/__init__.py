"""Per-image metrics by name."""

from eval.metrics import lpips, psnr, residual, ssim  # noqa: F401 (they register)
from eval.metrics.base import Metric, MetricSettings, Scored, row_problems
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
    "metric_info",
    "metric_names",
    "metric_settings",
    "register_metric",
    "row_problems",
    "score",
]
