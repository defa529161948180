"""Scores of folders of motions, of any method: each clip by itself, pairs by their key points, and both sets."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor

from eval.distribution.motion_names import FRECHET, KINDS, T2M, set_names
from eval.embedding_sets import EmbeddedSet, SetScore, set_score
from eval.metrics import MetricInfo, Scored, build_metric, metric_info
from eval.motion_evaluators import MotionEvaluator
from operators import InputError, build_operator, find_signal
from operators.signals.motion import SHORTEST
from operators.skeleton.clip_features import windows
from pipelines.console.options import item_seed
from pipelines.manifest.clip_sources import open_clips
from pipelines.manifest.motion_build_settings import MOTION, MotionSettings
from pipelines.score.picture_scores import Row

CLIP_METRICS = ("foot_skating", "foot_skating_paper")
PAIR_METRICS = ("path_error", "location_error_50cm", "trajectory_error_50cm")


@dataclass(frozen=True)
class MotionFolder:
    """Clips by id, their captions, and why others could not be read."""

    clips: dict[str, Tensor]
    captions: dict[str, str]
    failed: list[Row]


@dataclass(frozen=True)
class SetScores:
    """Numbers about both sets, each for the real and the generated motions, and why some are missing."""

    real: list[SetScore]
    generated: list[SetScore]
    unavailable: list[str]


def clip_infos() -> list[MetricInfo]:
    """What is measured of every clip."""
    return [metric_info(name) for name in CLIP_METRICS]


def pair_infos() -> list[MetricInfo]:
    """What is measured of a generated clip against the real one of its name."""
    return [metric_info(name) for name in PAIR_METRICS]


def read_motions(source: str, fps: float | None = None, cut: bool = False) -> MotionFolder:
    """Every clip of a folder or file; those that are no motion are named with their reason."""
    signal = find_signal(MOTION)
    folder = MotionFolder({}, {}, [])
    for clip in open_clips(MotionSettings(source=source, fps=fps)).clips:
        try:
            features = clip.read()
            parts = windows(features, SHORTEST) if cut else {0: features}
            for first, part in parts.items():
                if problem := signal.problem(part):
                    raise InputError(f"clip {clip.name}: {problem}.")
                name = clip.id if len(parts) == 1 else f"{clip.id}@{first}"
                folder.clips[name] = part
                folder.captions[name] = clip.fields.get("caption") or ""
        except InputError as error:
            folder.failed.append(Row(clip.id, error=str(error)))
    return folder


def score_clips(folder: MotionFolder) -> list[Row]:
    """What can be said of each clip alone."""
    metrics = [build_metric(name) for name in CLIP_METRICS]
    rows = []
    for name, clip in folder.clips.items():
        scored = Scored(None, clip[None], signal=MOTION)
        rows.append(Row(name, {metric.name: float(metric(scored)[0]) for metric in metrics}))
    return rows


def score_paths(real: MotionFolder, generated: MotionFolder, params: Mapping[str, Any], seed: int) -> list[Row]:
    """How far each generated clip is from key points of the real one of its name.

    Key frames follow from the seed and the name, so that every method is held against the same ones.
    """
    metrics = [build_metric(name) for name in PAIR_METRICS]
    rows = []
    for name in (name for name in real.clips if name in generated.clips):
        truth, x = real.clips[name], generated.clips[name]
        try:
            if len(x) < len(truth):
                raise InputError(f"clip {name}: it has {len(x)} frames and its real one {len(truth)}.")
            own = {"seed": item_seed(seed, name)} | dict(params)
            operator = build_operator("path", own, x_shape=tuple(truth.shape))
            scored = Scored(None, x[None, : len(truth)], operator=operator, y=operator(truth[None]), signal=MOTION)
            rows.append(Row(name, {metric.name: float(metric(scored)[0]) for metric in metrics}))
        except InputError as error:
            rows.append(Row(name, error=str(error)))
    return rows


def score_sets(
    real: MotionFolder, generated: MotionFolder, evaluator: MotionEvaluator, repeats: int, seed: int
) -> SetScores:
    """Distance, retrieval and spread of embeddings; numbers of published names are named as missing without theirs."""
    name, result = type(evaluator).name, SetScores([], [], [])
    if name != T2M:
        missing = ", ".join(set_names(T2M).values())
        result.unavailable.append(f"{missing}: they need the evaluator of Guo et al., as --evaluator t2m:FOLDER")
    truth = evaluator.motions(list(real.clips.values()))
    sets = {
        "real": _embedded(evaluator, real, real.captions, truth, result),
        "generated": _embedded(evaluator, generated, real.captions, None, result),
    }
    for side, own in sets.items():
        for kind in KINDS:
            if side == "real" and kind == FRECHET:
                continue
            try:
                getattr(result, side).append(set_score(kind, name, own, truth, repeats, seed))
            except InputError as error:
                reason = str(error).partition(": ")[2].rstrip(".")
                result.unavailable.append(f"{set_names(name)[kind]} of {side} motions: {reason}")
    return result


def _embedded(
    evaluator: MotionEvaluator, folder: MotionFolder, others: Mapping[str, str], motions: Any, result: SetScores
) -> EmbeddedSet:
    """A folder's motions and their captions, or those of the real ones of the same names."""
    prompts = [folder.captions[name] or others.get(name, "") for name in folder.clips]
    told = [place for place, prompt in enumerate(prompts) if prompt]
    motions = evaluator.motions(list(folder.clips.values())) if motions is None else motions
    try:
        texts = evaluator.texts([prompts[place] for place in told])
    except InputError as error:
        result.unavailable.append(f"texts: {str(error).rstrip('.')}")
        told, texts = [], np.zeros((0, 0), np.float32)
    if not told:
        texts = np.zeros((0, motions.shape[1]), np.float32)
    return EmbeddedSet(motions, texts, np.array(told, dtype=np.intp))
