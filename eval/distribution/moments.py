"""Count, mean and scatter of feature vectors, mergeable in any order, so that workers can share the counting."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from operators.errors import InputError
from operators.validation import shorten

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Moments:
    """Everything a Frechet distance needs of a set of features, in float64."""

    count: int
    mean: Array
    """(F,)"""

    scatter: Array
    """(F, F): the sum of (f - mean)(f - mean)^T, which is count - 1 times the covariance."""

    left_out: int = 0
    """Rows that were not counted because a feature was NaN or infinite."""

    @classmethod
    def empty(cls, dim: int) -> Self:
        """Of no rows at all: merging with it changes nothing."""
        return cls(0, np.zeros(dim), np.zeros((dim, dim)))

    @classmethod
    def from_features(cls, features: NDArray[Any]) -> Self:
        """Of features (N, F); rows with NaN or infinite values are counted apart."""
        kept, left_out = finite_rows(features)
        rows = kept.astype(np.float64)
        if not len(rows):
            return cls(0, np.zeros(rows.shape[1]), np.zeros((rows.shape[1],) * 2), left_out)
        mean = rows.mean(axis=0)
        rows -= mean
        return cls(len(rows), mean, rows.T @ rows, left_out)

    @classmethod
    def merged(cls, parts: Iterable[Self]) -> Self:
        """Of all rows of all parts together."""
        total: Self | None = None
        for part in parts:
            total = part if total is None else total.merge(part)
        if total is None:
            raise InputError("moments: there are no parts to merge: at least one is needed.")
        return total

    def merge(self, other: Self) -> Self:
        """Of the rows of both, by the pairwise update of Chan, Golub and LeVeque."""
        if self.dim != other.dim:
            raise InputError(f"moments have {other.dim} features: they must have {self.dim} as the first ones do.")
        count, left_out = self.count + other.count, self.left_out + other.left_out
        share = other.count / max(count, 1)
        shift = other.mean - self.mean
        mean = self.mean + share * shift
        scatter = self.scatter + other.scatter + np.outer(shift, shift) * (self.count * share)
        return type(self)(count, mean, scatter, left_out)

    @property
    def dim(self) -> int:
        """F, the number of features."""
        return len(self.mean)

    @property
    def covariance(self) -> Array:
        """(F, F), unbiased; it needs two rows."""
        if self.count < 2:
            raise InputError(f"moments have count {self.count}: a covariance needs at least 2 rows.")
        return self.scatter / (self.count - 1)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Flat arrays, one per Arrow or Parquet column; of the symmetric scatter only the upper triangle."""
        return {
            "count": np.asarray(self.count, dtype=np.int64),
            "left_out": np.asarray(self.left_out, dtype=np.int64),
            "mean": self.mean,
            "scatter": self.scatter[np.triu_indices(self.dim)],
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> Self:
        """The inverse of `to_arrays`; lists and scalars as Arrow gives them back will do."""
        try:
            count, left_out = int(arrays["count"]), int(arrays["left_out"])
            mean, upper = (np.asarray(arrays[key], dtype=np.float64) for key in ("mean", "scatter"))
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"moments: {shorten(str(error))} is missing or not a number: "
                "count, left_out, mean and scatter are needed as `to_arrays` gives them."
            ) from None
        dim = mean.size
        if mean.ndim != 1 or upper.shape != (dim * (dim + 1) // 2,) or min(count, left_out) < 0:
            raise InputError(
                f"moments have count {count}, left_out {left_out}, mean {mean.shape} and scatter {upper.shape}: "
                "the counts must be at least 0, mean (F,) and scatter (F (F + 1) / 2,)."
            )
        scatter = np.zeros((dim, dim))
        scatter[np.triu_indices(dim)] = upper
        return cls(count, mean, scatter + np.triu(scatter, 1).T, left_out)


def finite_rows(features: NDArray[Any]) -> tuple[NDArray[Any], int]:
    """The rows of features (N, F) without NaN or infinity, and how many others there were."""
    if features.ndim != 2 or not np.issubdtype(features.dtype, np.floating):
        raise InputError(f"features are {features.dtype}{features.shape}: they must be floating-point (N, F).")
    finite = np.isfinite(features).all(axis=1)
    return features[finite], int((~finite).sum())
