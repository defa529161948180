"""False alarms and power where the best cell of one grid meets the best of another.

Cells share the hardness of measurements and have noise of their own, of one standard deviation. In `equal` grids all
cells are as good; `falling` ones go from a best cell, as good as the other grid's, down by one standard deviation.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.registry import Effort, Ratio, stands_for
from eval.scores import CellValues
from eval.statistics import halves, paired, selected_contrast, sign_flip_p_value

_SWEEPS = {"quick": 5, "normal": 300, "full": 2000}
_RESAMPLES = 1000
_GRIDS = ((20, 1), (20, 20), (3, 3))
_TRUTHS = (("equal", 0.0), ("falling", 0.0), ("equal", 0.5), ("equal", -0.5))


@stands_for(
    Ratio("false alarms, the worst", "selected", 5, "lower", "%", where={"ahead": 0.0}, over="highest"),
    Ratio("intervals that hold the truth", "covered", 94, unit="%", over="mean"),
    Ratio(
        "0.5 found, best of 20 v 1, 64 images",
        "selected",
        60,
        unit="%",
        where={"cells": "20 v 1", "measurements": 64, "ahead": 0.5},
    ),
)
def run(effort: Effort) -> list[dict[str, Any]]:
    """Per cent of sweeps that say a difference: by cells chosen on all rows, on halves, and by `selected_contrast`.

    `covered` are its intervals that hold the true difference of the cells chosen, `inflation` the mean of its own.
    """
    random = np.random.default_rng(11)
    rows = []
    for measurements in (12, 64):
        for cells_a, cells_b in _GRIDS:
            for shape, ahead in _TRUTHS:
                true_a, true_b = ahead + _grid(shape, cells_a), _grid(shape, cells_b)
                said = np.array([_sweep(random, measurements, true_a, true_b) for _ in range(_SWEEPS[effort.level])])
                naive, pooled, selected, covered = 100 * said[:, :4].mean(0)
                rows.append(
                    {
                        "measurements": measurements, "cells": f"{cells_a} v {cells_b}", "grids": shape,
                        "ahead": ahead, "sweeps": len(said), "chosen_on_all": naive, "halves_pooled": pooled,
                        "selected": selected, "covered": covered,
                        "inflation": said[:, 4].mean(),
                    }
                )  # fmt: skip
    return rows


def _grid(shape: str, cells: int) -> NDArray[np.float64]:
    return np.zeros(cells) if shape == "equal" else -np.linspace(0, 1, cells)


def _sweep(
    random: np.random.Generator, measurements: int, true_a: NDArray[np.float64], true_b: NDArray[np.float64]
) -> tuple[float, ...]:
    hardness = random.normal(23, 3, measurements)
    seed = int(random.integers(2**31))
    a, b = (
        {str(cell): _column(hardness + mean + random.normal(0, 1, measurements)) for cell, mean in enumerate(means)}
        for means in (true_a, true_b)
    )
    found = selected_contrast(a, b, better="higher", a_label="a", b_label="b", resamples=_RESAMPLES, seed=seed)
    naive = paired(a[str(found.best_a)], b[str(found.best_b)], resamples=_RESAMPLES, seed=seed)
    differences, truth = np.zeros(measurements), 0.0
    for part, cell_a, cell_b in zip(
        halves(_names(measurements), seed)[::-1], found.chosen_a, found.chosen_b, strict=True
    ):
        rows = np.isin(_names(measurements), list(part))
        differences[rows] = (a[cell_a].values - b[cell_b].values)[rows]
        truth += rows.mean() * (true_a[int(cell_a)] - true_b[int(cell_b)])
    pooled = sign_flip_p_value(differences, resamples=_RESAMPLES, seed=seed)
    assert found.result is not None
    gap = found.result.difference
    assert gap.low is not None
    assert gap.high is not None
    alarms = (p <= 0.05 for p in (naive.p_value, pooled, found.result.p_value))
    return *alarms, gap.low <= truth <= gap.high, found.inflation


def _names(count: int) -> list[str]:
    return [f"m{index:03d}" for index in range(count)]


def _column(values: NDArray[np.float64]) -> CellValues:
    count = len(values)
    return CellValues(
        label="", metric="psnr", measurements=np.array(_names(count), dtype=object), seeds=np.zeros(count, np.int64),
        digests=np.full(count, None, dtype=object), failed=np.zeros(count, bool), values=values,
    )  # fmt: skip
