"""Two cells on the same measurements and seeds: the mean difference and how sure it is."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eval.scores import CellValues
from eval.statistics.bootstrap import Interval, bootstrap_interval
from eval.statistics.clusters import cluster_totals
from eval.statistics.shared_rows import row_keys, same_rows
from eval.statistics.sign_flip import sign_flip_p_value
from operators import InputError
from operators.plurals import counted

_NAMED = 5


@dataclass(frozen=True)
class PairedResult:
    """What a minus b amounts to."""

    metric: str
    a: str
    """Label of the cell."""

    b: str
    mean_a: float
    """Over the pairs, as all that follows."""

    mean_b: float
    difference: Interval
    """a minus b, resampled by measurement; `excluded` counts pairs in which either value was not finite."""

    p_value: float
    """Two-sided sign-flip test."""

    effect_size: float | None
    """Cohen's d_z: the measurements' mean difference over its standard deviation; None where that is 0 or unknown."""

    p_corrected: float | None = None
    """After Holm's correction, where the test was one of several."""

    @property
    def pairs(self) -> int:
        return self.difference.count


def paired(
    a: CellValues,
    b: CellValues,
    *,
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
    inflation: float = 1.0,
) -> PairedResult:
    """Compare two cells that saw the same measurements and seeds; refuse others and say what differs.

    `inflation` is the standard error of the mean difference over that of independent measurements, where these are not:
    the interval is so much wider, and the test is of differences whose mean is so much nearer to 0.
    """
    unlike = key_difference(a, b, "A", "B")
    if unlike:
        raise InputError(f"{a.label} (A) and {b.label} (B) cannot be paired: {unlike}.")
    both = a.finite & b.finite
    if not both.any():
        raise InputError(f"{a.label} and {b.label} have no pair with finite {a.metric} in both: nothing to compare.")
    difference = np.where(both, a.values - b.values, np.nan)
    tested, measurements = difference[both], a.measurements[both]
    return PairedResult(
        metric=a.metric,
        a=a.label,
        b=b.label,
        mean_a=float(a.values[both].mean()),
        mean_b=float(b.values[both].mean()),
        difference=bootstrap_interval(
            difference, a.measurements, confidence=confidence, resamples=resamples, seed=seed
        ).widened(inflation),
        p_value=sign_flip_p_value(
            tested - (1 - 1 / inflation) * tested.mean(), measurements, resamples=resamples, seed=seed
        ),
        effect_size=_effect_size(tested, measurements),
    )


def key_difference(a: CellValues, b: CellValues, name_a: str, name_b: str) -> str | None:
    """In words, what keeps two cells from being paired: metric, measurements, seeds or their content."""
    if a.metric != b.metric:
        return f"{name_a} holds {a.metric} and {name_b} {b.metric}"
    if not same_rows(a, b):
        unlike = _unlike_rows(a, b, name_a, name_b)
        if unlike:
            return unlike
    changed = {m for m, x, y in zip(a.measurements, a.digests, b.digests, strict=True) if None not in (x, y) and x != y}
    if changed:
        part = f"{len(changed)} of {counted(len(set(a.measurements)), 'measurement')}"
        return f"{part} {'has' if len(changed) == 1 else 'have'} other content: {_listed(changed)}"
    return None


def _unlike_rows(a: CellValues, b: CellValues, name_a: str, name_b: str) -> str | None:
    measured_a, measured_b = set(a.measurements), set(b.measurements)
    for only, name in ((measured_a - measured_b, name_a), (measured_b - measured_a, name_b)):
        if only:
            return f"{_counted(only, 'measurement')} only in {name}: {_listed(only)}"
    keys_a, keys_b = set(row_keys(a)), set(row_keys(b))
    for left, name in ((keys_a - keys_b, name_a), (keys_b - keys_a, name_b)):
        if left:
            return f"{_counted(left, 'seed')} only in {name}: {_listed(f'{m} seed {s}' for m, s in left)}"
    return None


def _counted(things: set[Any], noun: str) -> str:
    return f"{counted(len(things), noun)} {'is' if len(things) == 1 else 'are'}"


def _listed(names: Iterable[str]) -> str:
    ordered = sorted(names)
    return ", ".join(ordered[:_NAMED]) + (f" and {len(ordered) - _NAMED} more" if len(ordered) > _NAMED else "")


def _effect_size(difference: NDArray[np.float64], measurements: NDArray[np.object_]) -> float | None:
    sums, sizes = cluster_totals(difference, measurements)
    means = sums / sizes
    spread = float(means.std(ddof=1)) if len(means) > 1 else 0.0
    # a spread of mere rounding would give an effect of 1e16
    return float(means.mean() / spread) if spread > 1e-12 * np.abs(means).max() else None
