"""A distribution metric: the features it reads, and the distance between two sets of them."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar

from numpy.typing import NDArray
from torch import Tensor

from eval.distribution.distances import frechet_distance, kernel_distance
from eval.distribution.extractors import FeatureExtractor, extract_features
from eval.distribution.moments import Moments, finite_rows
from eval.distribution.networks import load_extractor
from eval.distribution.references import PublishedGaussian, reference_features, reference_gaussian
from eval.distribution.results import DistributionResult, Unavailable
from eval.distribution.settings import DistributionSettings, KernelSettings, ReferenceSettings
from operators.errors import InputError

FeatureSet = NDArray[Any] | Moments
"""Features (N, F), or their moments where the metric is a Frechet distance."""


class Sample(Protocol):
    """One side of a comparison, without the rows that were left out."""

    @property
    def count(self) -> int | None:
        """Rows that take part; None if a published reference does not say."""

    @property
    def left_out(self) -> int:
        """Rows that were NaN or infinite."""


AnySample = TypeVar("AnySample", bound=Sample)


class Distribution(ABC, Generic[AnySample]):
    """Made by `build_distribution`. `distance` needs features alone, so no network loads where others extract them."""

    def __init__(
        self, name: str, network: str, settings: DistributionSettings, extractor: FeatureExtractor | None, device: str
    ) -> None:
        self.name = name
        self.settings = settings
        self._network, self._extractor, self._device = network, extractor, device

    @cached_property
    def extractor(self) -> FeatureExtractor | Unavailable:
        """The network, loaded on first use, or why there is none."""
        return self._extractor or load_extractor(
            self._network, weights_dir=self.settings.weights_dir, device=self._device
        )

    @property
    def reference(self) -> str | None:
        """The published data set that stands for the ground truths, if any."""
        return self.settings.reference if isinstance(self.settings, ReferenceSettings) else None

    def score(self, truth: Iterable[Tensor] | None, images: Iterable[Tensor]) -> DistributionResult:
        """The distance between images (3, H, W) or batches of them; `truth` is None where a reference stands for it."""
        self._check_truth(truth is not None)
        extractor = self.extractor
        if isinstance(extractor, Unavailable):
            return DistributionResult(name=self.name, unavailable=extractor.reason, reference=self.reference)
        size = self.settings.batch_size
        ours = extract_features(extractor, images, size)
        return self.distance(None if truth is None else extract_features(extractor, truth, size), ours)

    def distance(self, truth: FeatureSet | None, images: FeatureSet) -> DistributionResult:
        """The distance between features; rows with NaN or infinite values are left out and counted."""
        self._check_truth(truth is not None)
        theirs = self._published() if truth is None else self._sample(truth)
        if isinstance(theirs, Unavailable):
            return DistributionResult(name=self.name, unavailable=theirs.reason, reference=self.reference)
        ours = self._sample(images)
        result = DistributionResult(
            name=self.name,
            count_truth=theirs.count,
            count_images=ours.count,
            left_out_truth=theirs.left_out,
            left_out_images=ours.left_out,
            reference=self.reference,
        )
        counts = {"ground truths": theirs.count, "images": ours.count}
        few = [f"{count} {what}" for what, count in counts.items() if count is not None and count < 2]
        if few:
            reason = f"{self.name} needs at least 2 finite images on each side: there are {' and '.join(few)}."
            return result.model_copy(update={"unavailable": reason})
        return result.model_copy(update=self._compare(theirs, ours))

    def _check_truth(self, given: bool) -> None:
        if given and self.reference is not None:
            raise InputError(f"{self.name}: reference is {self.reference!r}: ground truths must not be given as well.")
        if not given and self.reference is None:
            raise InputError(f"{self.name}: there are no ground truths: give them, or a reference where it has one.")

    @abstractmethod
    def _sample(self, features: FeatureSet) -> AnySample: ...

    @abstractmethod
    def _published(self) -> AnySample | Unavailable: ...

    @abstractmethod
    def _compare(self, truth: AnySample, images: AnySample) -> dict[str, Any]:
        """The value and whatever else of the result the metric decides."""


class FrechetDistribution(Distribution[Moments | PublishedGaussian]):
    """Frechet distance: FID where the network is Inception."""

    def _sample(self, features: FeatureSet) -> Moments:
        return features if isinstance(features, Moments) else Moments.from_features(features)

    def _published(self) -> PublishedGaussian | Unavailable:
        return reference_gaussian(str(self.reference), self.settings.weights_dir)

    def _compare(self, truth: Moments | PublishedGaussian, images: Moments | PublishedGaussian) -> dict[str, Any]:
        value = frechet_distance(truth, images)
        fewest, dim = min(side.count for side in (truth, images) if side.count is not None), images.mean.size
        note = None
        if fewest <= dim:
            note = f"{fewest} images are few for {dim} features and the value is too high: compare equal counts only."
        return {"value": value, "note": note}


@dataclass(frozen=True, eq=False)
class Rows:
    """Finite features (N, F), each of them."""

    features: NDArray[Any]
    left_out: int = 0

    @property
    def count(self) -> int:
        """N"""
        return len(self.features)


class KernelDistribution(Distribution[Rows]):
    """Kernel distance: KID where the network is Inception."""

    settings: KernelSettings

    def _sample(self, features: FeatureSet) -> Rows:
        if isinstance(features, Moments):
            raise InputError(f"{self.name} got moments: a kernel distance needs the features (N, F) themselves.")
        return Rows(*finite_rows(features))

    def _published(self) -> Rows | Unavailable:
        features = reference_features(str(self.reference), self.settings.weights_dir)
        return features if isinstance(features, Unavailable) else Rows(features)

    def _compare(self, truth: Rows, images: Rows) -> dict[str, Any]:
        asked = self.settings.subset_size
        size = min(truth.count, images.count, asked)
        value = kernel_distance(truth.features, images.features, self.settings.subsets, asked, self.settings.seed)
        note = None
        if size < asked:
            note = f"the subsets have {size} images and not {asked}: the smaller set has no more."
        return {"value": value, "note": note, "subset_size": size}
