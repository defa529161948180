"""Which way is up in joints of a file that does not say: features of a body that lies in its own axes mean nothing."""

import numpy as np
from numpy.typing import NDArray

from operators.errors import InputError
from operators.skeleton.joint_names import FEET, JOINTS

_HEAD = JOINTS.index("head")
_LEAN = 0.15
"""Least height of the head above the feet, over how far it is from them along the floor: walkers whose file has z up
lean forward by less, and clips of CMU's database, swimming and tumbling included, are hardly ever below it."""


def check_upright(joints: NDArray[np.floating], name: str) -> None:
    """Raise an InputError unless the head of (F, 22, 3) is above the feet along y, over the mean of all frames."""
    if joints.shape[1:] != (len(JOINTS), 3) or not len(joints) or not np.isfinite(joints).all():
        return  # what is no clip is said by whoever makes its features
    x, y, z = (joints[:, _HEAD] - joints[:, list(FEET)].mean(axis=1)).mean(axis=0, dtype=np.float64)
    if y > _LEAN * max(abs(x), abs(z)) or not (x or y or z):
        return
    raise InputError(
        f"{name}: y is not up: its head is on average {y:.3g} above its feet along y, {x:.3g} away along x and {z:.3g} "
        "along z; turn its axes so that y points up."
    )
