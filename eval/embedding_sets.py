"""Sets of motions by their embeddings: retrieval of the right text, and spread; in published tables beside an FID."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eval.distribution.distances import frechet_distance
from eval.distribution.moments import Moments
from eval.distribution.motion_names import DIVERSITY, FRECHET, MATCHING, RANKED, T2M, TOPS, set_names
from operators.errors import InputError

Array = NDArray[np.float64]

GROUP, PAIRS = 32, 300
"""Motions among which a text's own is looked for, and random pairs of motions."""
_SAME = 1e-4
"""Of a text's length: nearer are the same words, whose embeddings other batches may have rounded otherwise."""


@dataclass(frozen=True)
class SetScore:
    """One number about a set, over so many repeats."""

    name: str
    mean: float
    interval: float | None
    """Half the width of the 95 % interval of the mean; None for one repeat."""
    repeats: int


@dataclass(frozen=True)
class EmbeddedSet:
    """Motions of one side, and texts of those that have one."""

    motions: NDArray[Any]  # (N, E)
    texts: NDArray[Any]  # (M, E)
    told: NDArray[np.intp]  # (M,), the motion that each text belongs to


def set_score(
    kind: str, evaluator: str, own: EmbeddedSet, real: NDArray[Any], repeats: int = 20, seed: int = 0
) -> SetScore:
    """One of `KINDS` of a set; an InputError says what it lacks. Published names have published numbers of pairs."""
    name = set_names(evaluator)[kind]
    if kind == FRECHET:
        return SetScore(name, set_frechet(real, own.motions), None, 1)
    if kind == MATCHING:
        return SetScore(name, matching_score(own.texts, own.motions[own.told]), None, 1)
    if kind == DIVERSITY:
        pairs = PAIRS if evaluator == T2M else min(PAIRS, len(own.motions))
        return repeated(name, lambda seed: diversity(own.motions, seed, pairs), repeats, seed)
    top = RANKED[kind]
    return repeated(name, lambda seed: r_precision(own.texts, own.motions[own.told], seed, top), repeats, seed)


def r_precision(
    texts: NDArray[Any], motions: NDArray[Any], seed: int = 0, top: int = TOPS[-1], group: int = GROUP
) -> float:
    """How often a text's own motion is among the `top` nearest of `group`, in groups that the seed draws.

    As published, motions are ranked for each text, and pairs that fill no whole group are left out: the other
    direction, or another size of group, would be another number. A motion whose text has the same words is no rival.
    """
    texts, motions = _paired(texts, motions)
    if len(texts) < group:
        raise InputError(f"r_precision: there are {len(texts)} pairs of text and motion: at least {group} are needed.")
    order = np.random.default_rng(seed).permutation(len(texts))
    hits = total = 0
    for start in range(0, len(order) - group + 1, group):
        chosen = order[start : start + group]
        own = texts[chosen][:, None]
        distances = np.linalg.norm(own - motions[chosen], axis=-1)  # (texts, motions)
        rivals = np.linalg.norm(own - texts[chosen], axis=-1) > _SAME * np.linalg.norm(own, axis=-1)
        nearer = rivals & (distances < np.diag(distances)[:, None])
        hits += int((nearer.sum(axis=1) < top).sum())
        total += group
    return hits / total


def matching_score(texts: NDArray[Any], motions: NDArray[Any]) -> float:
    """The mean distance of a motion to its own text; lower is better."""
    texts, motions = _paired(texts, motions)
    if not len(texts):
        raise InputError("matching_score: there are 0 pairs of text and motion: at least 1 is needed.")
    return float(np.linalg.norm(motions - texts, axis=1).mean())


def diversity(motions: NDArray[Any], seed: int = 0, pairs: int = PAIRS) -> float:
    """The mean distance of random pairs; near that of real motions is better, not more."""
    motions = _finite(motions)
    if len(motions) < max(2, pairs):
        raise InputError(
            f"diversity: there are {len(motions)} motions: at least {max(2, pairs)} are needed for its pairs."
        )
    random = np.random.default_rng(seed)
    first, second = (random.choice(len(motions), pairs, replace=False) for _ in range(2))
    return float(np.linalg.norm(motions[first] - motions[second], axis=1).mean())


def set_frechet(real: NDArray[Any], generated: NDArray[Any]) -> float:
    """The Frechet distance between Gaussians of two sets of embeddings."""
    if min(len(real), len(generated)) < 2:
        raise InputError(
            f"frechet: there are {len(real)} real and {len(generated)} generated motions: each side needs at least 2."
        )
    return frechet_distance(Moments.from_features(_finite(real)), Moments.from_features(_finite(generated)))


def repeated(name: str, compute: Callable[[int], float], repeats: int, seed: int = 0) -> SetScore:
    """A number that a seed decides: its mean over seeds, and 1.96 standard errors."""
    values = np.array([compute(seed + number) for number in range(repeats)])
    interval = 1.96 * float(values.std(ddof=1)) / math.sqrt(repeats) if repeats > 1 else None
    return SetScore(name, float(values.mean()), interval, repeats)


def _paired(texts: NDArray[Any], motions: NDArray[Any]) -> tuple[Array, Array]:
    if texts.shape != motions.shape:
        raise InputError(f"embeddings of texts are {texts.shape} and of motions {motions.shape}: they must agree.")
    return _finite(texts), _finite(motions)


def _finite(embeddings: NDArray[Any]) -> Array:
    if embeddings.ndim != 2:
        raise InputError(f"embeddings have shape {embeddings.shape}: they must be (N, E).")
    if not np.isfinite(embeddings).all():
        raise InputError("embeddings have NaN or infinite values: every value must be finite.")
    whole: Array = embeddings.astype(np.float64)
    return whole
