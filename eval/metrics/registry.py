"""Metrics by name: our own, those of installed packages, and `module:thing` for one of the user's own."""

import threading
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from eval.metrics.info import COSTS, MetricInfo
from operators import InputError
from operators.extensions import Extensions, subclass_of
from operators.validation import shorten, validate

if TYPE_CHECKING:
    import torch

    from eval.metrics.base import MetricSettings, RowMetric

_BUILT: "dict[tuple[str, MetricSettings, str], RowMetric]" = {}
_LOCK = threading.Lock()


def _not_a_metric(thing: Any) -> str | None:
    from eval.metrics.base import RowMetric  # torch, which the names alone do without

    return subclass_of(RowMetric)(thing) or thing.info().problem()


METRICS: "Extensions[type[RowMetric]]" = Extensions(
    "metric",
    "g2d2.metrics",
    {
        "feet_on_floor": "eval.metrics.feet_on_floor:FeetOnFloor",
        "foot_skating": "eval.metrics.foot_skating:FootSkating",
        "foot_skating_paper": "eval.metrics.foot_skating:FootSkatingPaper",
        "location_error_50cm": "eval.metrics.path_errors:LocationError",
        "lpips_alex": "eval.metrics.lpips:LpipsAlex",
        "lpips_vgg": "eval.metrics.lpips:LpipsVgg",
        "path_error": "eval.metrics.path_errors:PathError",
        "psnr": "eval.metrics.psnr:Psnr",
        "psnr_8bit": "eval.metrics.psnr:Psnr8Bit",
        "residual": "eval.metrics.residual:Residual",
        "residual_norm": "eval.metrics.residual:ResidualNorm",
        "ssim": "eval.metrics.ssim:Ssim",
        "trajectory_error_50cm": "eval.metrics.path_errors:TrajectoryError",
        "whole_path_error": "eval.metrics.path_errors:WholePathError",
    },
    _not_a_metric,
)

_DEFAULTS = {
    "image": ("psnr", "ssim", "lpips_vgg", "residual"),
    "motion": (
        "path_error",
        "location_error_50cm",
        "trajectory_error_50cm",
        "foot_skating",
        "foot_skating_paper",
        "feet_on_floor",
    ),
}


def metric_names(signal: str | None = None) -> list[str]:
    """Every known name, sorted; or those that can score a signal."""
    names = list(METRICS.names())
    return names if signal is None else [name for name in names if metric_info(name).scores(signal)]


def default_metrics(signal: str) -> list[str]:
    """What is measured of a signal's rows where nothing is asked for; none of motions needs a truth or weights."""
    if signal in _DEFAULTS:
        return list(_DEFAULTS[signal])
    return [name for name in _DEFAULTS["image"] if metric_info(name).scores(signal)]


def metric_info(name: str) -> MetricInfo:
    """Direction, unit, meaning and needs, without loading weights."""
    return METRICS.find(name).info(source=name)


def column_info(column: str) -> MetricInfo:
    """What is known of a column by its name alone: a metric's or a cost's facts, else a metric without direction."""
    if column in COSTS:
        return COSTS[column]
    return metric_info(column) if column in METRICS.names() else MetricInfo(column, summary=column)


def metric_columns(names: Iterable[str]) -> list[str]:
    """The columns of metrics that a specification names: their own names."""
    return [name if name in METRICS.homes else METRICS.find(name).name for name in names]


def metric_settings(name: str) -> "type[MetricSettings]":
    """The settings model of the metric called `name`."""
    return METRICS.find(name).Settings


def build_metric(
    name: str, settings: "Mapping[str, Any] | MetricSettings | None" = None, *, device: "str | torch.device" = "cpu"
) -> "RowMetric":
    """The metric called `name`; the same settings and device give the same object, so that networks load once."""
    import torch

    cls = METRICS.find(name)
    chosen = validate(cls.Settings, settings, where=name)
    try:
        place = torch.device(device)
    except RuntimeError:
        raise InputError(f"device is {shorten(device)}: it must be a torch device such as cpu or cuda:0.") from None
    key = (name, chosen, str(place))
    with _LOCK:
        if key not in _BUILT:
            _BUILT[key] = cls(chosen, place)
        return _BUILT[key]
