"""Levels of cells that saw different measurements: an exact recovery, and what they must not depend on."""

import numpy as np
import pytest

from eval.racing.levels import levels, running_levels


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


@pytest.mark.parametrize("first", [0, 1, 7])
def test_running_levels_are_those_of_every_beginning_and_nothing_later_changes_them(first):
    random = np.random.default_rng(2)
    merits = random.normal(20, 3, 20) + random.normal(size=(5, 20))
    merits[random.random(merits.shape) < 0.2] = np.nan
    merits[:, 0] = [20.0, 20.5, 20.1, 19.0, 20.0]
    found = running_levels(merits, first)
    for count, row in enumerate(found[:-1], start=first):
        if count:
            assert row - row[0] == pytest.approx(levels(merits[:, :count]) - levels(merits[:, :count])[0], abs=1e-4)
        later = merits.copy()
        later[:, count:] = 1e3 * random.normal(size=later[:, count:].shape)
        assert (running_levels(later, first)[count - first] == row).all()


def test_running_levels_are_plain_means_while_every_value_is_there():
    merits = np.random.default_rng(3).normal(20, 3, (4, 12))
    merits[2, 9] = np.nan
    found = running_levels(merits, 1)
    assert found[:9] == pytest.approx((merits[:, :9].cumsum(1) / np.arange(1, 10)).T)


def test_cells_that_are_compared_through_nobody_have_levels_all_the_same():
    merits = np.full((4, 6), np.nan)
    merits[:2, :3], merits[2:, 3:] = [[1.0], [3.0]], [[30.0], [20.0]]
    assert running_levels(merits, 6)[0] == pytest.approx([-1, 1, 5, -5], abs=1e-4)
