"""From a recording at any frame rate to 20 frames a second."""

import numpy as np
from numpy.typing import NDArray

from operators.errors import InputError
from operators.skeleton.joint_names import FPS

Array = NDArray[np.float64]

SLOWEST, FASTEST = 5.0, 1000.0


def at_20_fps(joints: Array, fps: float | None, name: str) -> Array:
    """Joints (F, J, 3) at 20 fps: every n-th frame where that is exact, else between the two nearest in time."""
    if fps is None:
        raise InputError(f"{name}: its frame rate is not known; give it with --fps.")
    if not SLOWEST <= fps <= FASTEST:
        raise InputError(f"{name}: its frame rate is {fps:g} a second: it must be from {SLOWEST:g} to {FASTEST:g}.")
    step = fps / FPS
    if abs(step - round(step)) < 1e-3 * step and step >= 0.999:
        return joints[:: round(step)]
    times = np.arange(0, len(joints) - 1 + 1e-9, step)
    before = np.minimum(times.astype(int), len(joints) - 2)
    share = (times - before)[:, None, None]
    between: Array = (1 - share) * joints[before] + share * joints[before + 1]
    return between
