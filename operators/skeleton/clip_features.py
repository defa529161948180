"""One clip of any source as the features that a manifest stores."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from operators.errors import InputError
from operators.skeleton.joint_names import FEATURES, JOINTS, LONGEST
from operators.skeleton.motion_features import features_from_joints
from operators.skeleton.placing import on_reference_body

ROOT_HEIGHT = 3
"""The feature that holds it."""
LOWEST, HIGHEST = -1.0, 5.0
"""Metres between which the root of a captured person stays: steps and ladders are climbed, and wells are not."""


def clip_features(array: NDArray[np.generic], name: str) -> Tensor:
    """Features (F, 263) as they are, or those of joints (F, 22, 3) in any unit, put on the reference body."""
    if not np.issubdtype(array.dtype, np.floating):
        raise InputError(f"{name}: it holds {array.dtype}: a clip is of floating-point numbers.")
    joints = array.shape[1:] == (len(JOINTS), 3)
    if array.ndim < 2 or not (joints or array.shape[1:] == (FEATURES,)):
        raise InputError(
            f"{name}: it has shape {tuple(array.shape)}: a clip is (frames, {FEATURES}) features or "
            f"(frames, {len(JOINTS)}, 3) joints."
        )
    if not len(array):
        raise InputError(f"{name}: it has 0 frames: there is no motion in it.")
    bad = ~np.isfinite(array).reshape(len(array), -1).all(axis=1)
    if bad.any():
        raise InputError(
            f"{name}: {int(bad.sum())} of its {len(array)} frames have NaN or infinite values, "
            f"frame {int(bad.argmax())} the first."
        )
    clip = torch.from_numpy(np.ascontiguousarray(array, dtype=np.float64))
    if not joints:
        return _on_the_floor(clip.float(), name)
    if len(clip) < 2:
        raise InputError(f"{name}: it has {len(clip)} frames: velocities need at least 2.")
    if not (on_reference_body(clip[None, :1]).isfinite().all() and clip[0].std() > 0):
        raise InputError(f"{name}: its first frame is no body: its joints fall together.")
    return _on_the_floor(features_from_joints(on_reference_body(clip[None]))[0].float(), name)


def _on_the_floor(features: Tensor, name: str) -> Tensor:
    """The same features, of a root at a height where a person's can be."""
    heights = features[:, ROOT_HEIGHT]
    out = (heights < LOWEST) | (heights > HIGHEST)
    if out.any():
        first = int(out.int().argmax())
        raise InputError(
            f"{name}: its path leaves the floor, with its root at a height of {float(heights[first]):.3g} m in frame "
            f"{first}: it must be from {LOWEST:g} to {HIGHEST:g} m."
        )
    return features


def windows(features: Tensor, shortest: int) -> dict[int, Tensor]:
    """Parts of at most 196 frames by their first frame; a last one below `shortest` is left out."""
    parts = {first: features[first : first + LONGEST] for first in range(0, len(features), LONGEST)}
    return {first: part for first, part in parts.items() if first == 0 or len(part) >= shortest}
