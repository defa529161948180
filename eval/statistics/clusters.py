"""Values that share a measurement are not independent: they are added up before anything is resampled."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from operators import InputError

Labels = Sequence[Any] | NDArray[Any]


def cluster_totals(
    values: NDArray[np.float64], clusters: Labels | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sum and size of each cluster, in the order of their labels; without labels each value stands alone."""
    if clusters is None:
        return values, np.ones_like(values)
    if len(clusters) != len(values):
        raise InputError(f"clusters has {len(clusters)} entries: it must have one per value, {len(values)}.")
    _, codes = np.unique(np.asarray(clusters), return_inverse=True)
    return np.bincount(codes, weights=values).astype(np.float64), np.bincount(codes).astype(np.float64)


def as_values(values: Sequence[float] | NDArray[Any]) -> NDArray[np.float64]:
    """One axis of float64."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise InputError(f"values has shape {array.shape}: it must have one axis.")
    return array
