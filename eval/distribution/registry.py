"""Distribution metrics by name."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from eval.distribution.extractors import FeatureExtractor
from eval.distribution.metric import Distribution, FrechetDistribution, KernelDistribution
from eval.distribution.results import DistributionResult
from eval.distribution.settings import DistributionSettings, KernelSettings, KidSettings, ReferenceSettings
from operators.errors import InputError
from operators.validation import shorten, validate

Settings = Mapping[str, Any] | DistributionSettings | None


@dataclass(frozen=True)
class _Kind:
    metric: type[FrechetDistribution] | type[KernelDistribution]
    network: str
    settings_model: type[DistributionSettings]


_REGISTRY = {
    "fid": _Kind(FrechetDistribution, "inception", ReferenceSettings),
    "kid": _Kind(KernelDistribution, "inception", KidSettings),
    "fd_vgg16": _Kind(FrechetDistribution, "vgg16", DistributionSettings),
    "kd_vgg16": _Kind(KernelDistribution, "vgg16", KernelSettings),
}


def distribution_names() -> list[str]:
    """Every name, those other papers report first."""
    return list(_REGISTRY)


def distribution_settings(name: str) -> type[DistributionSettings]:
    """The settings model of the metric called `name`."""
    return _find(name).settings_model


def distribution_network(name: str) -> str:
    """The network whose features the metric called `name` reads; metrics of one network share them."""
    return _find(name).network


def build_distribution(
    name: str, settings: Settings = None, *, extractor: FeatureExtractor | None = None, device: str = "cpu"
) -> Distribution[Any]:
    """The metric called `name`; an `extractor` of your own replaces its network."""
    kind = _find(name)
    return kind.metric(name, kind.network, validate(kind.settings_model, settings, where=name), extractor, device)


def score_distribution(
    name: str, truth: Iterable[Tensor] | None, images: Iterable[Tensor], settings: Settings = None
) -> DistributionResult:
    """The distance between two sets of images in [-1, 1]; `truth` is None where a reference is set."""
    return build_distribution(name, settings).score(truth, images)


def _find(name: str) -> _Kind:
    if name not in _REGISTRY:
        raise InputError(f"distribution metric is {shorten(name)}: it must be one of {', '.join(_REGISTRY)}.")
    return _REGISTRY[name]
