"""Training clips on a level floor: where feet rest, and not where the lowest point of any frame is.

The features put a clip's lowest point at height 0, so that one bad frame lifts everybody in it, and a recording on
stairs or on uneven ground has people who stand in the air. A prior that is told of them as of others makes bodies that
float.
"""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from g2d2.training.masked_motion.captured_clips import Clip
from operators.skeleton.feet_heights import LOW
from operators.skeleton.joint_names import CONTACTS, FEET, POSITIONS, ROOT_HEIGHT, TOES

RESTING = 0.025
"""Metres between the floor and the joint of a toe that rests: its median in clips without a bad frame."""
LEVEL = 0.15
"""Metres between the lowest and the highest resting toes of a clip above which its floor is none."""
_FEWEST = 5
_WITHIN = (0.05, 0.5, 0.95)  # quantiles


def on_level_floors(clips: Sequence[Clip]) -> list[Clip]:
    """The clips whose feet rest at about one height, each lowered to where they do; the others are left out.

    A foot rests where it is slow, so that at the top of a jump it does too: who jumps all the time is left out as well.
    Where toes hardly ever rest nothing is known of the floor, and a clip stays as it is.
    """
    kept = []
    for clip in clips:
        heights = resting_toes(clip.features.float())
        if len(heights) < _FEWEST:
            kept.append(clip)
            continue
        lowest, usual, highest = heights.quantile(heights.new_tensor(_WITHIN)).tolist()
        if highest - lowest <= LEVEL:
            kept.append(replace(clip, features=lowered(clip.features, max(0.0, usual - RESTING))))
    return kept


def on_floor(clips: Sequence[Clip]) -> float:
    """Share of the frames of all clips in which a toe is on the floor."""
    heights = torch.cat([_toe_heights(clip.features.float()).amin(1) for clip in clips])
    return (heights < LOW).float().mean().item()


def resting_toes(features: Tensor) -> Tensor:
    """Heights of both toes in all frames in which they rest, of features (F, 263)."""
    rests = features[:, [CONTACTS.start + FEET.index(toe) for toe in TOES]] > 0.5
    return _toe_heights(features)[rests]


def _toe_heights(features: Tensor) -> Tensor:
    """Of features (F, 263), (F, 2)."""
    return features[:, [POSITIONS.start + 3 * (toe - 1) + 1 for toe in TOES]]  # positions begin after the pelvis


def lowered(features: Tensor, metres: float) -> Tensor:
    """Features of the same motion that much nearer to the floor."""
    if metres == 0:
        return features
    made = features.float().clone()
    made[..., ROOT_HEIGHT] -= metres
    made[..., POSITIONS.start + 1 : POSITIONS.stop : 3] -= metres
    return made.to(features.dtype)
