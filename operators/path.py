"""Path following: y is where chosen joints are at a few key frames; A is differentiable and not linear."""

import math
from typing import ClassVar, Literal

import torch
from pydantic import Field, field_validator
from torch import Tensor

from operators.base import Operator, OperatorSettings, Shape
from operators.errors import InputError
from operators.seeding import seeded_generator
from operators.skeleton.joint_names import JOINTS
from operators.skeleton.motion_features import joints_from_features
from operators.validation import did_you_mean, shorten

ALL = "all"


class PathSettings(OperatorSettings):
    """Which joints are seen, and in which frames."""

    joints: tuple[str, ...] = Field(default=("pelvis",), min_length=1)
    """Names of the joints; each is seen in every key frame."""

    keyframes: int | str = 5
    """How many frames, drawn by `seed`: a count such as 5, a share of the clip such as `25%`, or `all`."""

    frames: tuple[int, ...] | None = None
    """The key frames themselves, counted from 0, instead of drawn ones."""

    axes: Literal["xyz", "xz"] = "xyz"
    """`xz` sees places on the floor and no heights, as a drawn path has them."""

    seed: int = 0
    """Decides which frames."""

    @field_validator("joints")
    @classmethod
    def _known(cls, joints: tuple[str, ...]) -> tuple[str, ...]:
        for joint in joints:
            if joint not in JOINTS:
                near = did_you_mean(joint, JOINTS)
                raise ValueError(f"{joint!r} is no joint{near}; the joints are {', '.join(JOINTS)}")
        if len(set(joints)) < len(joints):
            raise ValueError("name each joint once")
        return joints

    @field_validator("keyframes")
    @classmethod
    def _countable(cls, value: int | str) -> int | str:
        if isinstance(value, str) and value.strip().isdigit():
            value = int(value)
        if isinstance(value, int):
            if value < 1:
                raise ValueError("at least 1 key frame is needed")
        elif value != ALL:
            _share(value)
        return value

    @field_validator("frames")
    @classmethod
    def _ordered(cls, frames: tuple[int, ...] | None) -> tuple[int, ...] | None:
        if frames is not None:
            if not frames or min(frames) < 0:
                raise ValueError("give at least one frame, counted from 0")
            if len(set(frames)) < len(frames):
                raise ValueError("name each frame once")
            frames = tuple(sorted(frames))
        return frames


class Path(Operator):
    """Positions (K, J, 3), or (K, J, 2) of x and z, of J joints in K key frames of a motion."""

    name = "path"
    settings_model = PathSettings
    signal: ClassVar[str] = "motion"
    frames: Tensor  # (R, K), int64
    joints: Tensor  # (R, J), int64
    here: Tensor  # (R, K, 1, 1), 1 where a row has this key frame: others of its batch may have more

    def __init__(self, settings: PathSettings, x_shape: Shape) -> None:
        frames = key_frames(settings, x_shape[0])
        joints = [JOINTS.index(name) for name in settings.joints]
        super().__init__(settings, x_shape, (len(frames), len(joints), len(settings.axes)))
        self.register_buffer("frames", torch.tensor([frames]), persistent=False)
        self.register_buffer("joints", torch.tensor([joints]), persistent=False)
        self.register_buffer("here", torch.ones(1, len(frames), 1, 1, dtype=torch.float64), persistent=False)

    def norm(self, residual: Tensor) -> Tensor:
        """The sum over key points of the distance of each, in metres: the likelihood of path following. (B,)"""
        distances: Tensor = torch.linalg.vector_norm(residual, dim=-1)  # (B, K, J)
        # one after the other: the padding of shorter rows must not change the order, and with it the last bit
        return distances.flatten(1).cumsum(dim=1)[:, -1]

    def noise_norm(self, y: Tensor) -> Tensor:
        """For every key point the mean length of its noise, which is below the root of 2 or 3 squares. (B,)"""
        axes = y.shape[-1]
        mean = math.sqrt(2) * math.gamma((axes + 1) / 2) / math.gamma(axes / 2)  # of a chi distribution
        return super().noise_norm(y) * (mean / math.sqrt(axes))

    def mask_noise(self, noise: Tensor) -> Tensor:
        return noise * self.here.to(noise)

    def _apply_forward(self, x: Tensor) -> Tensor:
        features = x.float() if x.element_size() < 4 else x  # half precision does not survive a sum over all frames
        positions = self._positions(features)  # (B, F, J, 3)
        if self.y_shape[-1] == 2:
            positions = positions[..., 0::2]
        place = self.frames.expand(len(x), -1)[..., None, None].expand(-1, -1, *positions.shape[2:])
        return positions.gather(1, place).to(x) * self.here.to(x)

    def _positions(self, features: Tensor) -> Tensor:
        names = {settings.joints for settings in self.row_settings if isinstance(settings, PathSettings)}
        if len(names) == 1:
            return joints_from_features(features, joints=[JOINTS.index(name) for name in names.pop()])
        own = self.joints[:, None, :, None].expand(-1, features.shape[1], -1, 3)
        return joints_from_features(features).gather(2, own)


def key_frames(settings: PathSettings, length: int) -> list[int]:
    """The frames of a clip in which its joints are seen, in order."""
    if settings.frames is not None:
        if settings.frames[-1] >= length:
            raise InputError(f"path: frames has {settings.frames[-1]}: the clip ends with frame {length - 1}.")
        return list(settings.frames)
    count = key_frame_count(settings.keyframes, length)
    order = torch.randperm(length, generator=seeded_generator(settings.seed, "path key frames"))
    chosen: list[int] = sorted(order[:count].tolist())
    return chosen


def key_frame_count(keyframes: int | str, length: int) -> int:
    """How many frames of a clip of this length; a share is rounded down, and never to none."""
    if keyframes == ALL:
        return length
    if isinstance(keyframes, str):
        return max(1, int(_share(keyframes) * length))
    if keyframes > length:
        raise InputError(f"path: keyframes is {keyframes}: the clip has {length} frames.")
    return keyframes


def _share(text: str) -> float:
    number = text.strip().removesuffix("%")
    try:
        share = float(number) / 100
    except ValueError:
        share = 0.0
    if not text.strip().endswith("%") or not 0 < share <= 1:
        raise ValueError(f"{shorten(text)} must be a count, a share such as 25%, or {ALL}")
    return share
