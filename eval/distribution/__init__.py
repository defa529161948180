"""How far two sets of images are apart: FID and KID through clean-fid, and the same distances on VGG16 features.

Sets of motions are told by their embeddings, see `motion_sets`.

The names below load on first use: what a distance is called is known without torch.
"""

from typing import TYPE_CHECKING

from operators.on_first_use import on_first_use

if TYPE_CHECKING:
    from eval.distribution.distances import frechet_distance, kernel_distance
    from eval.distribution.extractors import FeatureExtractor, extract_features
    from eval.distribution.metric import Distribution
    from eval.distribution.moments import Moments
    from eval.distribution.networks import absent_network, load_extractor
    from eval.distribution.registry import (
        build_distribution,
        distribution_names,
        distribution_network,
        distribution_settings,
        distribution_signal,
        score_distribution,
    )
    from eval.distribution.results import CellDistance, DistributionResult, Unavailable

__all__ = [
    "CellDistance",
    "Distribution",
    "DistributionResult",
    "FeatureExtractor",
    "Moments",
    "Unavailable",
    "absent_network",
    "build_distribution",
    "distribution_names",
    "distribution_network",
    "distribution_settings",
    "distribution_signal",
    "extract_features",
    "frechet_distance",
    "kernel_distance",
    "load_extractor",
    "score_distribution",
]

__getattr__ = on_first_use(
    __name__,
    {
        "CellDistance": "results",
        "Distribution": "metric",
        "DistributionResult": "results",
        "FeatureExtractor": "extractors",
        "Moments": "moments",
        "Unavailable": "results",
        "absent_network": "networks",
        "build_distribution": "registry",
        "distribution_names": "registry",
        "distribution_network": "registry",
        "distribution_settings": "registry",
        "distribution_signal": "registry",
        "extract_features": "extractors",
        "frechet_distance": "distances",
        "kernel_distance": "distances",
        "load_extractor": "networks",
        "score_distribution": "registry",
    },
)
