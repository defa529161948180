"""Distances between two sets of feature vectors: Frechet, between Gaussians, and kernel, without assumptions."""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from operators.errors import InputError

Array = NDArray[np.float64]


class Gaussian(Protocol):
    """What a Frechet distance reads: `Moments` have it, and so do published statistics."""

    @property
    def mean(self) -> Array:
        """(F,)"""

    @property
    def covariance(self) -> Array:
        """(F, F)"""


def frechet_distance(a: Gaussian, b: Gaussian) -> float:
    """|m_a - m_b|^2 + tr(C_a + C_b - 2 (C_a C_b)^(1/2)), the number clean-fid's function gives.

    With C = R R^T the last trace is the sum of the singular values of R_a^T R_b. That stays real and accurate where the
    product is singular, as it always is for fewer images than features, and where a matrix square root
    turns complex. The estimate from n images is too high by about a constant over n: compare equal counts only.
    """
    if a.mean.shape != b.mean.shape:
        raise InputError(f"features are {a.mean.size} in one set and {b.mean.size} in the other: they must be as many.")
    covariance_a, covariance_b = a.covariance, b.covariance
    shift = a.mean - b.mean
    overlap = np.linalg.svd(_root(covariance_a).T @ _root(covariance_b), compute_uv=False).sum()
    distance = shift @ shift + np.trace(covariance_a) + np.trace(covariance_b) - 2 * overlap
    return max(float(distance), 0.0)  # rounding must not make a distance negative


def kernel_distance(
    f: NDArray[Any], g: NDArray[Any], subsets: int = 100, subset_size: int = 1000, seed: int = 0
) -> float:
    """The mean over random subsets of the unbiased squared MMD with the kernel (x . y / F + 1)^3; it may be below 0.

    Where a set has fewer rows than `subset_size`, the subsets are as large as the smaller set, as in clean-fid. Rows
    are drawn by number from `seed` alone, so the same rows in the same order give the same value.
    """
    if f.ndim != 2 or g.ndim != 2 or f.shape[1] != g.shape[1]:
        raise InputError(f"features are {f.shape} and {g.shape}: they must be (N, F) and (M, F).")
    size = min(len(f), len(g), subset_size)
    if size < 2 or subsets < 1:
        raise InputError(f"a kernel distance got {subsets} subsets of {size}: it needs at least 1 subset of 2 rows.")
    if size == len(f) == len(g):
        return squared_mmd(f, g)  # every subset would be everything
    rng = np.random.default_rng(seed)
    total = 0.0
    for _ in range(subsets):
        rows_f, rows_g = (rng.choice(len(features), size, replace=False) for features in (f, g))
        total += squared_mmd(f[rows_f], g[rows_g])
    return total / subsets


def squared_mmd(x: NDArray[Any], y: NDArray[Any]) -> float:
    """The unbiased estimate for one pair of subsets (m, F), in float64: its terms cancel almost entirely."""
    x, y = x.astype(np.float64), y.astype(np.float64)
    m = len(x)
    within = sum(kernel.sum() - np.trace(kernel) for kernel in (_kernel(x, x), _kernel(y, y)))
    return float(within / (m * (m - 1)) - 2 * _kernel(x, y).mean())


def _kernel(x: Array, y: Array) -> Array:
    kernel: Array = (x @ y.T / x.shape[1] + 1) ** 3
    return kernel


def _root(covariance: Array) -> Array:
    """R (F, rank) with R R^T = covariance; directions that are rounding errors are dropped."""
    values, vectors = linalg.eigh(covariance, driver="evd")
    kept = values > values[-1] * len(values) * np.finfo(np.float64).eps
    root: Array = vectors[:, kept] * np.sqrt(values[kept])
    return root
