"""Many tests at once: Holm's correction, so that a large grid does not cry wolf."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eval.statistics.paired import PairedResult
from operators import InputError


def holm(p_values: Sequence[float] | NDArray[Any]) -> NDArray[np.float64]:
    """Adjusted p-values in the order given: rejecting those up to alpha makes any false rejection as rare as alpha."""
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 1 or not ((p >= 0) & (p <= 1)).all():
        raise InputError("p_values: each must be a number from 0 to 1.")
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def corrected_together(results: Sequence[PairedResult]) -> list[PairedResult]:
    """The same comparisons with p-values after Holm's correction over all of them."""
    ps = holm([result.p_value for result in results])
    return [replace(result, p_corrected=float(p)) for result, p in zip(results, ps, strict=True)]
