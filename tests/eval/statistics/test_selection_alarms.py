"""Sweeps in which no cell is better than another: choosing the best of many is no finding, and a real gain still is."""

import numpy as np
import pytest

from eval.scores import CellValues
from eval.statistics import paired, selected_contrast

SWEEPS, RESAMPLES, LEVEL = 400, 500, 0.05
ERROR = 3 * np.sqrt(LEVEL * (1 - LEVEL) / SWEEPS)


def grid(random, hardness, means, shared=0.0):
    """Cells with noise of one standard deviation, of which a share is common to the cells of the grid."""
    count = len(hardness)
    names = np.array([f"m{i:03d}" for i in range(count)], dtype=object)
    common = random.normal(0, np.sqrt(shared), count)
    columns = (hardness + mean + common + random.normal(0, np.sqrt(1 - shared), count) for mean in means)
    blank = np.full(count, None, dtype=object)
    return {
        f"c{i}": CellValues("cell", "psnr", names, np.zeros(count, np.int64), blank, np.zeros(count, bool), values)
        for i, values in enumerate(columns)
    }


def rates(count, means_a, means_b, shared=0.0, spread=3.0, sweeps=SWEEPS):
    """Shares of sweeps with a significant difference: as selected here, and by cells chosen on all measurements."""
    random = np.random.default_rng(count)
    selected = naive = 0
    for sweep in range(sweeps):
        hardness = random.normal(23, spread, count)
        a, b = (grid(random, hardness, means, shared) for means in (means_a, means_b))
        found = selected_contrast(a, b, better="higher", a_label="a", b_label="b", resamples=RESAMPLES, seed=sweep)
        selected += found.result.p_value <= LEVEL
        best_a, best_b = (max(arm.values(), key=lambda column: column.values.mean()) for arm in (a, b))
        naive += paired(best_a, best_b, resamples=RESAMPLES, seed=sweep).p_value <= LEVEL
    return selected / sweeps, naive / sweeps


@pytest.mark.parametrize("count", [12, 64])
@pytest.mark.parametrize("spread", [0.0, 3.0])
def test_twenty_cells_against_one_raise_no_more_alarms_than_one_against_one(count, spread):
    """With and without a hardness that all cells share."""
    selected, naive = rates(count, np.zeros(20), np.zeros(1), spread=spread)
    assert selected <= LEVEL + ERROR
    assert naive > 0.12


def test_cells_of_a_grid_that_err_alike_raise_no_more_alarms():
    selected, _ = rates(64, np.zeros(20), np.zeros(1), shared=0.5)
    assert selected <= LEVEL + ERROR


def test_a_grid_whose_best_is_as_good_is_not_called_worse_for_having_more_to_choose_from():
    selected, _ = rates(64, -np.linspace(0, 1, 20), np.zeros(1))
    assert selected <= LEVEL + ERROR


def test_two_small_grids_raise_no_more_alarms():
    """Here the halves depend on each other most."""
    selected, _ = rates(12, np.zeros(3), np.zeros(3))
    assert selected <= LEVEL + ERROR


def test_a_real_difference_is_found():
    selected, _ = rates(64, np.full(20, 0.5), np.zeros(1), shared=0.5, sweeps=200)
    assert selected > 0.6
    selected, _ = rates(64, np.full(20, 0.5 * np.sqrt(2)), np.zeros(1), sweeps=200)  # 0.5 sd of the differences
    assert selected > 0.85
