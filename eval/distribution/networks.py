"""The feature networks by name, each loaded once per process."""

from collections.abc import Callable
from pathlib import Path
from threading import Lock

import torch

from eval.distribution.extractors import FeatureExtractor
from eval.distribution.inception import find_inception, load_inception
from eval.distribution.motion_names import EMBEDDED, T2M
from eval.distribution.results import Unavailable
from eval.distribution.vgg16 import load_vgg16
from eval.motion_evaluators import load_evaluator
from eval.weights import downloads_allowed, find_weights
from operators.errors import InputError
from operators.validation import shorten

_LOADERS: dict[str, Callable[[Path | None, torch.device], FeatureExtractor | Unavailable]] = {
    "inception": load_inception,
    "vgg16": load_vgg16,
}
_loaded: dict[tuple[str, Path | None, torch.device], FeatureExtractor] = {}
_lock = Lock()


def load_extractor(
    name: str, *, weights_dir: Path | None = None, device: str = "cpu"
) -> FeatureExtractor | Unavailable:
    """`inception` or `vgg16`; one that is unavailable is looked for again the next time."""
    if name not in _LOADERS:
        raise InputError(f"extractor is {shorten(name)}: it must be one of {', '.join(_LOADERS)}.")
    try:
        place = torch.device(device)
    except RuntimeError:
        raise InputError(f"device is {shorten(device)}: it must be a torch device such as cpu or cuda:0.") from None
    key = (name, weights_dir, place)
    with _lock:
        if key not in _loaded:
            extractor = _LOADERS[name](weights_dir, place)
            if isinstance(extractor, Unavailable):
                return extractor
            _loaded[key] = extractor
        return _loaded[key]


def absent_network(name: str) -> str | None:
    """Why a network's weights are not on this machine; None where they are, or may be fetched."""
    if name in (EMBEDDED, T2M):
        evaluator = load_evaluator(name)
        return evaluator.reason if isinstance(evaluator, Unavailable) else None
    if downloads_allowed():
        return None
    if name == "inception":
        place = find_inception()
        return place.reason if isinstance(place, Unavailable) else None
    try:
        find_weights("vgg16")
    except InputError as error:
        return str(error)
    return None
