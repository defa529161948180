"""BVH files: a hierarchy of joints, their channels in every frame, and where that puts 22 joints of a body."""

from dataclasses import dataclass, field
from itertools import takewhile

import numpy as np
from numpy.typing import NDArray

from operators.errors import InputError
from operators.skeleton.body_names import body_map
from operators.validation import shorten

Array = NDArray[np.float64]

_AXES = {"X": 0, "Y": 1, "Z": 2}
_CHANNELS = [f"{axis}{kind}" for axis in "XYZ" for kind in ("position", "rotation")]


@dataclass
class BvhJoint:
    """One joint of the hierarchy."""

    name: str
    parent: int
    """Its place in the list, -1 for the root."""
    offset: Array = field(default_factory=lambda: np.zeros(3))
    channels: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class BvhFile:
    """A file as it is written: lengths in its own unit."""

    joints: list[BvhJoint]
    values: Array
    """(frames, channels)"""
    frame_time: float | None
    """Seconds; None where the file does not say."""

    def positions(self) -> Array:
        """Of all joints in every frame. (frames, joints, 3)"""
        frames, column = len(self.values), 0
        places = np.zeros((frames, len(self.joints), 3))
        turns = np.zeros((frames, len(self.joints), 3, 3))
        for number, joint in enumerate(self.joints):
            shift, turn = np.tile(joint.offset, (frames, 1)), np.tile(np.eye(3), (frames, 1, 1))
            for channel in joint.channels:
                axis, values = _AXES[channel[0]], self.values[:, column]
                column += 1
                if channel.endswith("position"):
                    shift[:, axis] = values + (joint.offset[axis] if joint.parent < 0 else 0.0)
                else:
                    turn = turn @ _rotations(axis, np.radians(values))
            if joint.parent < 0:
                places[:, number], turns[:, number] = shift, turn
            else:
                above = turns[:, joint.parent]
                places[:, number] = places[:, joint.parent] + np.einsum("fij,fj->fi", above, shift)
                turns[:, number] = above @ turn
        return places

    def body(self, name: str) -> Array:
        """The 22 joints, in the file's own unit; an InputError where its joints are not those of a known body."""
        names = [joint.name for joint in self.joints]
        mapping, places = body_map(names, name), self.positions()
        return np.stack([sum(weight * places[:, names.index(one)] for one, weight in parts) for parts in mapping], 1)

    def without_rest_pose(self) -> "BvhFile":
        """Without a first frame of whole degrees before others: some collections put a pose before every clip."""
        columns = [name.endswith("rotation") for joint in self.joints for name in joint.channels]
        whole = [not (frame[columns] % 1).any() for frame in self.values[:2]]
        added = whole == [True, False]
        return BvhFile(self.joints, self.values[1:], self.frame_time) if added else self


def read_bvh(text: str, name: str) -> BvhFile:
    """The file's content; an InputError that begins with `name` where it is no BVH."""
    hierarchy, found, motion = text.partition("MOTION")
    if not found or not hierarchy.lstrip().startswith("HIERARCHY"):
        raise InputError(f"{name}: it is no BVH file; one has the parts HIERARCHY and MOTION.")
    joints = _joints(hierarchy.split()[1:], name)
    channels = sum(len(joint.channels) for joint in joints)
    count, frame_time, numbers = _motion_head(motion, name)
    try:
        values = np.array(numbers, dtype=np.float64)
    except ValueError:
        raise InputError(f"{name}: a value of its frames is not a number.") from None
    if not channels or values.size != count * channels:
        raise InputError(
            f"{name}: its frames hold {values.size} values, and {count} frames of {channels} channels have "
            f"{count * channels}; the file is cut short or damaged."
        )
    table = values.reshape(count, channels)
    bad = ~np.isfinite(table).all(axis=1)
    if bad.any():
        raise InputError(f"{name}: {int(bad.sum())} of its {count} frames have NaN or infinite values.")
    return BvhFile(joints, table, frame_time)


def _joints(words: list[str], name: str) -> list[BvhJoint]:
    joints: list[BvhJoint] = []
    open_joints: list[int] = []
    place, inside_end = 0, False
    try:
        while place < len(words):
            word = words[place]
            if word in ("ROOT", "JOINT"):
                joints.append(BvhJoint(words[place + 1], open_joints[-1] if open_joints else -1))
                place += 2
            elif word == "End":
                inside_end, place = True, place + 2
            elif word == "{":
                open_joints.append(open_joints[-1] if inside_end else len(joints) - 1)
                place += 1
            elif word == "}":
                open_joints.pop()
                inside_end, place = False, place + 1
            elif word == "OFFSET":
                if not inside_end:
                    joints[-1].offset = np.array([float(value) for value in words[place + 1 : place + 4]])
                place += 4
            elif word == "CHANNELS":
                end = place + 2 + int(words[place + 1])
                joints[-1].channels = words[place + 2 : end]
                place = end
            else:
                raise ValueError(word)
        if not joints or open_joints or any(set(joint.channels) - set(_CHANNELS) for joint in joints):
            raise ValueError("its joints")
    except (ValueError, IndexError) as error:
        raise InputError(f"{name}: its HIERARCHY cannot be read ({shorten(str(error))}).") from None
    return joints


def _motion_head(text: str, name: str) -> tuple[int, float | None, list[str]]:
    """Count of frames, seconds of one, and all words after them."""
    count: int | None = None
    frame_time: float | None = None
    lines = [line for line in text.split("\n") if line.strip()]
    head = list(takewhile(lambda line: ":" in line, lines))
    for line in head:
        key, _, value = line.partition(":")
        try:
            if key.strip().lower() == "frames":
                count = int(value)
            elif key.strip().lower() == "frame time":
                seconds = float(value)
                frame_time = seconds if 0 < seconds < 1 else None
        except ValueError:
            raise InputError(f"{name}: its line {line.strip()!r} holds no number.") from None
    if count is None or count < 1:
        raise InputError(f"{name}: its MOTION does not say how many frames it has.")
    return count, frame_time, " ".join(lines[len(head) :]).split()


def _rotations(axis: int, angles: Array) -> Array:
    """Rotation matrices about one axis. (frames, 3, 3)"""
    first, second = (axis + 1) % 3, (axis + 2) % 3
    turns = np.tile(np.eye(3), (len(angles), 1, 1))
    cosine, sine = np.cos(angles), np.sin(angles)
    turns[:, first, first] = turns[:, second, second] = cosine
    turns[:, first, second], turns[:, second, first] = -sine, sine
    return turns
