"""Which joints of other skeletons stand for the 22: by name, or between two of them."""

from collections.abc import Sequence

from operators.errors import InputError
from operators.skeleton.joint_names import JOINTS

Mixture = tuple[tuple[str, float], ...]
"""Joints by name with weights that add up to 1."""


def _limbs(name: str) -> dict[str, Mixture]:
    left = {
        "left_hip": "LeftUpLeg", "left_knee": "LeftLeg", "left_ankle": "LeftFoot", "left_foot": "LeftToeBase",
        "left_shoulder": "LeftArm", "left_elbow": "LeftForeArm", "left_wrist": "LeftHand",
    }  # fmt: skip
    both = left | {ours.replace("left", "right"): theirs.replace("Left", "Right") for ours, theirs in left.items()}
    return {ours: ((name + theirs, 1.0),) for ours, theirs in both.items()}


def _between(first: str, second: str, share: float) -> Mixture:
    return (first, 1 - share), (second, share)


_CMU: dict[str, Mixture] = _limbs("") | {
    "pelvis": (("Hips", 1.0),),
    "spine1": _between("Hips", "Spine", 0.5),
    "spine2": (("Spine", 1.0),),
    "spine3": _between("Spine", "Spine1", 0.6),
    "neck": _between("Spine1", "Neck1", 0.5),
    "head": (("Head", 1.0),),
    "left_collar": _between("Spine1", "LeftArm", 0.35),
    "right_collar": _between("Spine1", "RightArm", 0.35),
}


def _mixamo(prefix: str) -> dict[str, Mixture]:
    whole = {
        "pelvis": "Hips", "spine1": "Spine", "spine2": "Spine1", "spine3": "Spine2", "neck": "Neck", "head": "Head",
        "left_collar": "LeftShoulder", "right_collar": "RightShoulder",
    }  # fmt: skip
    return _limbs(prefix) | {ours: ((prefix + theirs, 1.0),) for ours, theirs in whole.items()}


_SMPL: dict[str, Mixture] = {name: ((name, 1.0),) for name in JOINTS}

BODIES: dict[str, dict[str, Mixture]] = {
    "CMU": _CMU,
    "Mixamo": _mixamo("mixamorig:"),
    "Mixamo without prefix": _mixamo(""),
    "SMPL": _SMPL,
}


def body_map(names: Sequence[str], what: str) -> list[Mixture]:
    """For each of the 22 joints, the joints among `names` that give it; an InputError where no known body fits."""
    missing: dict[str, list[str]] = {}
    for body, mapping in BODIES.items():
        needed = {name for mixture in mapping.values() for name, _ in mixture}
        missing[body] = sorted(needed - set(names))
        if not missing[body]:
            return [mapping[joint] for joint in JOINTS]
    nearest = min(missing, key=lambda body: len(missing[body]))
    raise InputError(
        f"{what}: its skeleton is none of {', '.join(BODIES)}; nearest is {nearest}, of which it lacks "
        f"{', '.join(missing[nearest][:3])}{' and others' if len(missing[nearest]) > 3 else ''}."
    )
