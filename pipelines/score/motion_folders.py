"""Scores of motions of any method: each clip by itself, each by what it was given, and whole sets."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from eval.distribution.motion_names import FRECHET, KINDS, MATCHING, RANKED, T2M, set_names
from eval.embedding_sets import EmbeddedSet, SetScore, set_score
from eval.metrics import Scored, build_metric
from eval.motion_evaluators import MotionEvaluator
from operators import InputError, find_signal
from operators.signals.motion import SHORTEST
from operators.skeleton.clip_features import windows
from pipelines.manifest.clip_sources import open_clips
from pipelines.manifest.motion_build_settings import MOTION, MotionSettings
from pipelines.score.given_measurements import Given
from pipelines.score.picture_scores import Row

TOLD = (*RANKED, MATCHING)
"""Numbers that need texts."""


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


def read_motions(source: str, fps: float | None = None, cut: bool = False, split: str | None = None) -> MotionFolder:
    """Every clip of a folder or file; those that are no motion are named with their reason."""
    signal = find_signal(MOTION)
    folder = MotionFolder({}, {}, [])
    for clip in open_clips(MotionSettings(source=source, fps=fps, split=split)).clips:
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


def score_clips(folder: MotionFolder, metrics: Sequence[str]) -> list[Row]:
    """What can be said of each clip alone."""
    return [_row(name, Scored(None, clip[None], signal=MOTION), metrics) for name, clip in folder.clips.items()]


def score_given(folder: MotionFolder, given: Mapping[str, Given], metrics: Sequence[str]) -> list[Row]:
    """How far each clip is from what it was given, none of it longer than the clip."""
    rows = []
    for name, one in given.items():
        x, frames = folder.clips[name], one.operator.x_shape[0]
        truth = None if one.truth is None else one.truth[None]
        sigma = torch.tensor([one.sigma], dtype=torch.float64)
        scored = Scored(
            truth, x[None, :frames], operator=one.operator, y=one.y[None], sigma=sigma, signal=MOTION
        )  # fmt: skip
        rows.append(_row(name, scored, metrics))
    return rows


def _row(name: str, scored: Scored, metrics: Sequence[str]) -> Row:
    """A clip's scores; a metric that cannot be had costs no other."""
    values, refused = dict[str, float](), list[str]()
    for metric in map(build_metric, metrics):
        try:
            values[metric.name] = float(metric(scored)[0])
        except InputError as error:
            values[metric.name] = math.nan
            refused.append(str(error))
    return Row(name, values, f"clip {name}: {' '.join(refused)}" if refused else None)


def score_sets(
    real: MotionFolder,
    generated: MotionFolder,
    evaluator: MotionEvaluator,
    repeats: int,
    seed: int,
    kinds: Sequence[str] | None = None,
) -> SetScores:
    """Distance, retrieval and spread of embeddings, or some of them.

    Where nothing is asked for by name, numbers of published names are named as missing without their evaluator.
    """  # fmt: skip
    name, result = type(evaluator).name, SetScores([], [], [])
    if name != T2M and kinds is None:
        missing = ", ".join(set_names(T2M).values())
        result.unavailable.append(f"{missing}: they need the evaluator of Guo et al., as --evaluator t2m:FOLDER")
    truth = evaluator.motions(list(real.clips.values()))
    told = kinds is None or any(kind in TOLD for kind in kinds)
    sets = {
        "real": _embedded(evaluator, real, real.captions if told else None, truth, result),
        "generated": _embedded(evaluator, generated, real.captions if told else None, None, result),
    }
    for side, own in sets.items():
        if side == "real" and not real.clips:
            continue
        for kind in KINDS if kinds is None else kinds:
            if side == "real" and kind == FRECHET:
                continue
            try:
                getattr(result, side).append(set_score(kind, name, own, truth, repeats, seed))
            except InputError as error:
                reason = str(error).partition(": ")[2].rstrip(".")
                result.unavailable.append(f"{set_names(name)[kind]} of {side} motions: {reason}")
    return result


def _embedded(
    evaluator: MotionEvaluator, folder: MotionFolder, others: Mapping[str, str] | None, motions: Any, result: SetScores
) -> EmbeddedSet:
    """A folder's motions and their captions, or those of the real ones of the same names; without any for None."""
    prompts = [] if others is None else [folder.captions[name] or others.get(name, "") for name in folder.clips]
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
