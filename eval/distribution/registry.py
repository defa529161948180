"""Distribution metrics by name."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from eval.distribution.motion_names import MOTION_SETS
from eval.distribution.results import DistributionResult
from eval.distribution.settings import DistributionSettings, KernelSettings, KidSettings, ReferenceSettings
from operators.errors import InputError
from operators.validation import did_you_mean, shorten, validate

if TYPE_CHECKING:
    from torch import Tensor

    from eval.distribution.extractors import FeatureExtractor
    from eval.distribution.metric import Distribution

Settings = Mapping[str, Any] | DistributionSettings | None


@dataclass(frozen=True)
class _Kind:
    distance: Literal["frechet", "kernel"]
    network: str
    settings_model: type[DistributionSettings]


_REGISTRY = {
    "fid": _Kind("frechet", "inception", ReferenceSettings),
    "kid": _Kind("kernel", "inception", KidSettings),
    "fd_vgg16": _Kind("frechet", "vgg16", DistributionSettings),
    "kd_vgg16": _Kind("kernel", "vgg16", KernelSettings),
}


def distribution_names(signal: str | None = None) -> list[str]:
    """Every name, or those of one signal; of images those that other papers report first."""
    return [*(_REGISTRY if signal in (None, "image") else ()), *(MOTION_SETS if signal in (None, "motion") else ())]


def distribution_signal(name: str) -> str:
    """The signal whose sets the metric called `name` compares."""
    return "motion" if name in MOTION_SETS else "image"


def distribution_settings(name: str) -> type[DistributionSettings]:
    """The settings model of the metric called `name`."""
    return _find(name).settings_model


def distribution_network(name: str) -> str:
    """The network whose features the metric called `name` reads; metrics of one network share them."""
    return MOTION_SETS[name][0] if name in MOTION_SETS else _find(name).network


def build_distribution(
    name: str, settings: Settings = None, *, extractor: "FeatureExtractor | None" = None, device: str = "cpu"
) -> "Distribution[Any]":
    """The metric called `name`; an `extractor` of your own replaces its network."""
    from eval.distribution.metric import FrechetDistribution, KernelDistribution  # with torch, which names do without

    kind = _find(name)
    metric = FrechetDistribution if kind.distance == "frechet" else KernelDistribution
    return metric(name, kind.network, validate(kind.settings_model, settings, where=name), extractor, device)


def score_distribution(
    name: str, truth: "Iterable[Tensor] | None", images: "Iterable[Tensor]", settings: Settings = None
) -> DistributionResult:
    """The distance between two sets of images in [-1, 1]; `truth` is None where a reference is set."""
    return build_distribution(name, settings).score(truth, images)


def _find(name: str) -> _Kind:
    if name not in _REGISTRY:
        near = did_you_mean(name, _REGISTRY)
        raise InputError(f"distribution metric is {shorten(name)}{near}: it must be one of {', '.join(_REGISTRY)}.")
    return _REGISTRY[name]
