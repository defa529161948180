"""Levels of cells that saw different measurements: an exact recovery, and what they must not depend on."""

import numpy as np
import pytest

from eval.racing.levels import levels


def made_up(noise=0.0):
    """Two batches on measurements of their own, of which the second is far easier; cell 1 is in both."""
    random = np.random.default_rng(5)
    own = np.array([0.0, 2.0, -1.0, 3.0])
    merits = own[:, None] + np.where(np.arange(12) < 6, 20.0, 35.0) + noise * random.normal(size=(4, 12))
    merits[[0, 2], 6:] = np.nan
    merits[3, :6] = np.nan
    return own, merits


def test_levels_are_told_apart_from_how_hard_the_measurements_were():
    own, merits = made_up()
    found = levels(merits)
    assert found - found[1] == pytest.approx(own - own[1])
    assert np.nanmean(merits, axis=1).argmax() == found.argmax() == 3
    assert np.nanmean(merits, axis=1)[1] - np.nanmean(merits, axis=1)[0] > 5  # what plain means would say


def test_a_value_that_is_missing_is_no_bad_value_and_a_cell_without_any_has_no_level():
    own, merits = made_up()
    merits[0, 2] = np.nan
    merits = np.vstack([merits, np.full(12, np.nan)])
    found = levels(merits)
    assert found[:4] - found[1] == pytest.approx(own - own[1])
    assert np.isnan(found[4])


def test_levels_are_the_least_squares():
    _, merits = made_up(noise=1.0)
    there = np.argwhere(np.isfinite(merits))
    design = np.zeros((len(there), 4 + 12))
    design[np.arange(len(there)), there[:, 0]] = 1
    design[np.arange(len(there)), 4 + there[:, 1]] = 1
    solved = np.linalg.lstsq(design, merits[tuple(there.T)], rcond=None)[0][:4]
    found = levels(merits)
    assert found - found[0] == pytest.approx(solved - solved[0])
