"""Human motion: (frames, 263) features of HumanML3D at 20 frames a second, each clip at its own length."""

import struct
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from operators.errors import InputError
from operators.pictures import encode_png
from operators.signals.base import Signal
from operators.skeleton.joint_names import FEATURES, FPS, LONGEST
from operators.skeleton.motion_features import joints_from_features
from operators.skeleton.stick_figures import Points, animation, overview, top_view
from operators.validation import shorten

SHORTEST = 20
"""Frames: one second."""
FARTHEST = 100.0
"""Metres from its start beyond which a clip is broken rather than long: a sprinter runs as far in its ten seconds."""

_MAGIC = b"G2MV"
_HEADER = struct.Struct("<4sHH")  # magic, version, frames
_VERSION = 1
_EXACT = 4
"""Features of the root: they are summed up over all frames, and are kept as float32; the others as float16."""
_LARGEST = float(np.finfo(np.float16).max)


class Motion(Signal):
    """Unnormalised features; the root's are stored exactly, all others to half precision (half a millimetre)."""

    name: ClassVar[str] = "motion"
    marks: ClassVar[bool] = True
    ragged: ClassVar[bool] = True

    def encode(self, x: Tensor) -> bytes:
        values = x.detach().float().cpu().numpy()
        if values.ndim != 2 or values.shape[1] != FEATURES or len(values) > 0xFFFF:
            raise InputError(f"a motion has shape {tuple(values.shape)}: it must be (frames, {FEATURES}).")
        with np.errstate(over="ignore"):  # beyond half precision it becomes infinite, which `problem` names
            rest = values[:, _EXACT:].astype("<f2")
        return _HEADER.pack(_MAGIC, _VERSION, len(values)) + values[:, :_EXACT].astype("<f4").tobytes() + rest.tobytes()

    def decode(self, content: bytes, name: str) -> Tensor:
        if len(content) < _HEADER.size or not content.startswith(_MAGIC):
            raise InputError(f"{name}: its {len(content)} bytes are no stored motion.")
        _, version, frames = _HEADER.unpack_from(content)
        exact, rest = 4 * _EXACT * frames, 2 * (FEATURES - _EXACT) * frames
        if version != _VERSION or len(content) != _HEADER.size + exact + rest:
            raise InputError(
                f"{name}: its {len(content)} bytes do not hold the {frames} frames of version {version} that they name."
            )
        root = np.frombuffer(content, "<f4", _EXACT * frames, _HEADER.size).reshape(frames, _EXACT)
        others = np.frombuffer(content, "<f2", -1, _HEADER.size + exact).reshape(frames, FEATURES - _EXACT)
        return torch.from_numpy(np.concatenate([root, others.astype(np.float32)], axis=1))

    def preview(self, x: Tensor) -> bytes:
        return self.preview_beside(x, None)

    def preview_beside(self, x: Tensor, y: Tensor | None) -> bytes:
        """The film strip above the path, with the key points that it was to meet."""
        return encode_png(overview(self.joints(x), None if y is None else key_points(y)))

    def preview_measurement(self, y: Tensor) -> bytes | None:
        """Key points from above, where y is positions (K, J, 2 or 3)."""
        keys = key_points(y)
        return None if keys is None else encode_png(top_view(np.zeros((0, 2)), keys))

    def animation(self, x: Tensor, y: Tensor | None = None) -> bytes:
        """A GIF, with the measured key points on the floor."""
        return animation(self.joints(x), None if y is None else key_points(y))

    def joints(self, x: Tensor) -> Tensor:
        """Positions (frames, 22, 3) in metres of one clip."""
        return joints_from_features(x.detach().float().cpu().unsqueeze(0))[0]

    def problem(self, x: Tensor) -> str | None:
        if reason := shape_problem(x.shape):
            return reason
        bad = (~torch.isfinite(x)).any(dim=1)
        if bad.any():
            first = int(bad.nonzero()[0])
            return f"it has NaN or infinite values in {int(bad.sum())} of {len(x)} frames, frame {first} the first"
        large = x[:, _EXACT:].abs().amax(dim=1)
        if float(large.max()) > _LARGEST:
            return (
                f"a feature of frame {int(large.argmax())} is {float(large.max()):.3g}: it must be within {_LARGEST:g}"
            )
        far = float(joints_from_features(x.unsqueeze(0), joints=(0,)).abs().amax())
        if far > FARTHEST:
            return f"its root gets {far:.3g} m away from its start: at most {FARTHEST:g} m are allowed"
        return None

    def words(self, shape: Sequence[int]) -> str:
        return f"of {shape[0]} frames ({shape[0] / FPS:.1f} s)"

    def check_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        sides = tuple(shape)
        if len(sides) != 2 or not all(isinstance(side, int) for side in sides) or sides[1] != FEATURES:
            raise InputError(f"x_shape is {shorten(shape)}: a motion has the shape (frames, {FEATURES}).")
        if not 1 <= sides[0] <= LONGEST:
            raise InputError(f"x_shape is {shorten(shape)}: a motion has 1 to {LONGEST} frames.")
        return sides


def shape_problem(shape: Sequence[int]) -> str | None:
    """Why a clip of this shape cannot be used; None where it can."""
    if len(shape) != 2 or shape[1] != FEATURES:
        return f"it has shape {tuple(shape)}: a motion has {FEATURES} features in every frame"
    if shape[0] < SHORTEST:
        return f"it is too short with {shape[0]} frames: at least {SHORTEST} ({SHORTEST / FPS:g} s) are needed"
    if shape[0] > LONGEST:
        return f"it is too long with {shape[0]} frames: at most {LONGEST} ({LONGEST / FPS:g} s) are allowed"
    return None


def key_points(y: Tensor) -> Points | None:
    """x and z of measured positions (K, J, 2 or 3) in a row (K * J, 2); None where y is none."""
    if y.ndim != 3 or y.shape[-1] not in (2, 3):
        return None
    flat = np.nan_to_num(y.detach().double().cpu().numpy().reshape(-1, y.shape[-1]))
    points: Points = flat[:, [0, -1]].clip(-1e3, 1e3)
    return points
