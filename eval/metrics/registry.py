"""Metrics by name: register one, list them, build one once per process."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from operators import InputError
from operators.validation import did_you_mean, shorten, validate

if TYPE_CHECKING:
    import torch

    from eval.metrics.base import Metric, MetricSettings
    from eval.weights import Backbone

Settings = TypeVar("Settings", bound="MetricSettings")
Direction = Literal["higher", "lower", "none"]


@dataclass(frozen=True)
class MetricInfo:
    """What a report says about a metric."""

    name: str
    direction: Direction
    unit: str
    summary: str
    least_side: int = 1
    """Pixels that an image must have along each axis."""
    backbone: "Backbone | None" = None
    """The network whose weights must be on the machine that scores."""


@dataclass(frozen=True)
class _Entry:
    info: MetricInfo
    settings_model: "type[MetricSettings]"
    build: "Callable[[MetricInfo, Any, torch.device], Metric]"


_HOMES = {
    "lpips_alex": "eval.metrics.lpips",
    "lpips_vgg": "eval.metrics.lpips",
    "psnr": "eval.metrics.psnr",
    "psnr_8bit": "eval.metrics.psnr",
    "residual": "eval.metrics.residual",
    "residual_norm": "eval.metrics.residual",
    "ssim": "eval.metrics.ssim",
}
"""Our own metrics with the module that registers each: their names are known before torch is loaded."""
_REGISTRY: dict[str, _Entry] = {}
_BUILT: "dict[tuple[str, MetricSettings, str], Metric]" = {}
_LOCK = threading.Lock()


def register_metric(
    info: MetricInfo, settings_model: type[Settings], build: "Callable[[MetricInfo, Settings, torch.device], Metric]"
) -> None:
    """The metric becomes known as `info.name`; `build` is called on first use and may load networks."""
    if info.name in _REGISTRY or _HOMES.get(info.name, settings_model.__module__) != settings_model.__module__:
        raise InputError(f"metric {info.name!r} is registered already: choose another name.")
    _REGISTRY[info.name] = _Entry(info, settings_model, build)


def metric_names() -> list[str]:
    """Every registered name, sorted."""
    return sorted({*_HOMES, *_REGISTRY})


def metric_info(name: str) -> MetricInfo:
    """Direction, unit and meaning, without loading weights."""
    return _find(name).info


def metric_settings(name: str) -> "type[MetricSettings]":
    """The settings model of the metric called `name`."""
    return _find(name).settings_model


def build_metric(
    name: str, settings: "Mapping[str, Any] | MetricSettings | None" = None, *, device: "str | torch.device" = "cpu"
) -> "Metric":
    """The metric called `name`; the same settings and device give the same object, so that networks load once."""
    import torch

    entry = _find(name)
    chosen = validate(entry.settings_model, settings, where=name)
    try:
        place = torch.device(device)
    except RuntimeError:
        raise InputError(f"device is {shorten(device)}: it must be a torch device such as cpu or cuda:0.") from None
    key = (name, chosen, str(place))
    with _LOCK:
        if key not in _BUILT:
            _BUILT[key] = entry.build(entry.info, chosen, place)
        return _BUILT[key]


def _find(name: str) -> _Entry:
    if name not in metric_names():
        near = did_you_mean(name, metric_names())
        raise InputError(f"metric is {shorten(name)}{near}: it must be one of {', '.join(metric_names())}.")
    if name not in _REGISTRY:
        import_module(_HOMES[name])
    return _REGISTRY[name]
