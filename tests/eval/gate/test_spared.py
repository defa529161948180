"""Races held against each other and against whole sweeps: what was never asked for is not missing."""

import json

import numpy as np
import pytest

from eval.gate import Spared, Tolerance, Verdict, compare
from tests.eval.conftest import ScoreTable, build

PSNR = {"psnr": Tolerance(direction="higher", absolute=0.1)}
IMAGES = 64
LEVEL = np.random.default_rng(0).normal(23, 3, IMAGES)


def sweep(images, lost=(), seed=0):
    """A cell that was solved up to some image; `lost` ones are not there."""
    values = LEVEL + np.random.default_rng(seed).normal(0, 0.02, IMAGES)
    table = build({"c": {"psnr": values}})
    return ScoreTable(table.take([place for place in range(images) if place not in lost]))


def left_after(seen):
    """The race that left the rest out."""
    return Spared({"c": {(f"m{number:04d}", 0) for number in range(seen, IMAGES)}}, {"c": f"left after {seen}"})


@pytest.mark.parametrize(
    ("candidate", "baseline", "mark"),
    [
        (24, 40, "(left after 24, the baseline left after 40)"),
        (40, 24, "(left after 40, the baseline left after 24)"),
        (24, 24, "(left after 24)"),
        (24, None, "(left after 24)"),
        (None, 24, "(the baseline left after 24)"),
    ],
)
def test_a_cell_that_left_is_judged_on_what_both_saw_and_says_so(candidate, baseline, mark):
    spared = tuple(Spared() if seen is None else left_after(seen) for seen in (candidate, baseline))
    new, old = (sweep(seen or IMAGES, seed=seed) for seed, seen in enumerate((candidate, baseline)))
    result = compare(new, old, PSNR, spared=spared)
    (found,) = result.judgements
    assert found.verdict is Verdict.UNCHANGED
    assert found.difference.count == 24
    assert found.label.endswith(mark)
    assert json.loads(result.to_json())["judgements"][0]["label"] == found.label
    assert mark in result.to_junit()


def test_without_the_race_the_same_rows_are_missing():
    assert not compare(sweep(24), sweep(40), PSNR).passed


def test_what_a_race_asked_for_and_lost_is_missing():
    spared = left_after(24), left_after(40)
    (found,) = compare(sweep(24, lost=[3]), sweep(40), PSNR, spared=spared).judgements
    assert found.verdict is Verdict.MISSING
    assert "1 of 24 items is not in the candidate" in found.reason


def test_races_that_asked_for_no_row_in_common_cannot_be_compared():
    first = Spared({"c": {(f"m{number:04d}", 0) for number in range(24)}})
    (found,) = compare(sweep(IMAGES, lost=range(24)), sweep(24), PSNR, spared=(first, left_after(24))).judgements
    assert found.verdict is Verdict.INCOMPARABLE
