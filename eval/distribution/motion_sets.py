"""Numbers about the motions of a cell from their embeddings, with the same numbers of the real motions."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from eval.distribution.motion_names import FRECHET, MOTION_SETS
from eval.distribution.results import DistributionResult
from eval.embedding_sets import EmbeddedSet, SetScore, set_score
from operators.errors import InputError


def score_motion_set(name: str, motions: EmbeddedSet, truths: EmbeddedSet) -> DistributionResult:
    """The number called `name`; rows with NaN are left out and counted."""
    evaluator, kind = MOTION_SETS[name]
    own, left_out = _finite(motions)
    real, left_out_truth = _finite(truths)
    counted = len(own.motions) if kind == FRECHET or kind.startswith("diversity") else len(own.told)
    result = DistributionResult(
        name=name,
        count_truth=len(real.motions),
        count_images=counted,
        left_out_truth=left_out_truth,
        left_out_images=left_out,
    )
    try:
        score = set_score(kind, evaluator, own, real.motions)
    except InputError as error:
        return result.model_copy(update={"unavailable": str(error)})
    return result.model_copy(
        update={"value": score.mean, "interval": score.interval, "of_truth": _of_truth(kind, evaluator, real)}
    )


def _of_truth(kind: str, evaluator: str, real: EmbeddedSet) -> float | None:
    """The real motions' number; None where they are too few, or nothing but what is compared with."""
    if kind == FRECHET:
        return None
    try:
        score: SetScore = set_score(kind, evaluator, real, real.motions)
    except InputError:
        return None
    return score.mean


def _finite(one: EmbeddedSet) -> tuple[EmbeddedSet, int]:
    kept = np.isfinite(one.motions).all(axis=1)
    places: NDArray[Any] = np.cumsum(kept) - 1
    told = kept[one.told]
    return EmbeddedSet(one.motions[kept], one.texts[told], places[one.told[told]]), int((~kept).sum())
