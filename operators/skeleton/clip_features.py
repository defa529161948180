"""One clip of any source as the features that a manifest stores."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from operators.errors import InputError
from operators.skeleton.joint_names import FEATURES, JOINTS, LONGEST
from operators.skeleton.motion_features import features_from_joints
from operators.skeleton.placing import on_reference_body


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
    bad = ~np.isfinite(array).reshape(len(array), -1).all(axis=1)
    if bad.any():
        raise InputError(
            f"{name}: {int(bad.sum())} of its {len(array)} frames have NaN or infinite values, "
            f"frame {int(bad.argmax())} the first."
        )
    clip = torch.from_numpy(np.ascontiguousarray(array, dtype=np.float64))
    if not joints:
        return clip.float()
    if len(clip) < 2:
        raise InputError(f"{name}: it has {len(clip)} frames: velocities need at least 2.")
    if not (on_reference_body(clip[None, :1]).isfinite().all() and clip[0].std() > 0):
        raise InputError(f"{name}: its first frame is no body: its joints fall together.")
    return features_from_joints(on_reference_body(clip[None]))[0].float()


def windows(features: Tensor, shortest: int) -> dict[int, Tensor]:
    """Parts of at most 196 frames by their first frame; a last one below `shortest` is left out."""
    parts = {first: features[first : first + LONGEST] for first in range(0, len(features), LONGEST)}
    return {first: part for first, part in parts.items() if first == 0 or len(part) >= shortest}
