"""Which cells of two sweeps are held against each other, and what is said where their settings differ."""

import numpy as np
import pytest

from eval.gate import Tolerance, Verdict, compare, pair_cells

PSNR = {"psnr": Tolerance(direction="higher", absolute=0.1)}
LEVEL = np.random.default_rng(0).normal(23, 3, 40)


@pytest.fixture
def sweep(scores):
    """A table from the parameters of its cells, each of the same quality."""

    def make(cells, shift=0.0):
        return scores({name: {"psnr": LEVEL + shift} for name in cells}, parameters=cells)

    return make


def grid(iterations, prefix="", etas=(0.001, 0.01), arms=("star", "markov")):
    return {
        f"{prefix}{arm}{eta}": {"task": "sr4-32", "arm": arm, "method": "g2d2", "eta_kl": eta, "iterations": iterations}
        for arm in arms
        for eta in etas
    }


def test_cells_pair_by_their_settings_whatever_their_ids(sweep):
    pairs = pair_cells(sweep(grid(6, "new-")), sweep(grid(6)))
    assert {old: pair.candidate for old, pair in pairs.items()} == {name: f"new-{name}" for name in grid(6)}
    assert {pair.changes for pair in pairs.values()} == {()}


def test_a_changed_setting_is_named_and_the_pair_is_judged(sweep):
    result = compare(sweep(grid(8, "new-"), shift=-1.0), sweep(grid(6)), PSNR)
    assert {one.verdict for one in result.judgements} == {Verdict.REGRESSED}
    assert {one.changes for one in result.judgements} == {("iterations 6 -> 8",)}
    (remark,) = [text for text in result.remarks() if "differ" in text]
    assert remark.endswith("and 1 result more: settings differ: iterations 6 -> 8")
    assert "settings differ: iterations 6 -> 8" in result.judgements[0].sentence()
    assert not any("only in the candidate" in note for note in result.notes)


def test_nothing_is_guessed_where_several_cells_are_as_near(sweep):
    result = compare(sweep(grid(6, "new-", etas=(0.1, 0.2))), sweep(grid(6)), PSNR)
    assert {one.verdict for one in result.judgements} == {Verdict.MISSING}
    assert result.judgements[0].reason == (
        "the candidate does not have this cell; the nearest differ in eta_kl 0.001 -> 0.1 or eta_kl 0.001 -> 0.2"
    )
    (note,) = [text for text in result.remarks() if "does not have" in text]  # one for all of them
    assert note.startswith("psnr of sr4-32, markov, eta_kl=0.001; ")
    assert " and 1 result more: the candidate does not have this cell; the nearest differ in " in note


def test_one_grid_point_that_moved_is_paired(sweep):
    old, new = grid(6, arms=("star",)), grid(6, arms=("star",), etas=(0.001, 0.03))
    pairs = pair_cells(sweep(new), sweep(old))
    assert (pairs["star0.001"].candidate, pairs["star0.01"].candidate) == ("star0.001", "star0.03")
    assert pairs["star0.01"].changes == ("eta_kl 0.01 -> 0.03",)


def test_another_arm_stands_for_none_unless_it_is_the_same_by_another_name(sweep):
    old = grid(6, etas=(0.01,))
    other = grid(6, arms=("star",), etas=(0.01,)) | {
        "w": {"task": "sr4-32", "arm": "wiener", "method": "wiener", "eta_kl": None, "iterations": None}
    }
    pairs = pair_cells(sweep(other), sweep(old))
    assert pairs["markov0.01"].candidate is None
    renamed = {name: known | {"arm": "ours"} for name, known in grid(6, "new-", arms=("star",), etas=(0.01,)).items()}
    pairs = pair_cells(sweep(renamed), sweep(grid(6, arms=("star",), etas=(0.01,))))
    assert pairs["star0.01"].candidate == "new-star0.01"
    assert pairs["star0.01"].changes == ("arm star -> ours",)


def test_two_lone_cells_are_compared_whatever_they_are(sweep):
    """Two sweeps of one cell each, or two folders that `g2d2 eval` scored."""
    wiener, bicubic = ({arm: {"task": "t", "arm": arm, "method": arm}} for arm in ("wiener", "bicubic"))
    pairs = pair_cells(sweep(wiener), sweep(bicubic))
    assert pairs["bicubic"].candidate == "wiener"
    assert pairs["bicubic"].changes == ("arm bicubic -> wiener", "method bicubic -> wiener")


def test_a_column_that_only_one_table_has_says_nothing(sweep):
    old = {name: {k: v for k, v in known.items() if k != "method"} for name, known in grid(6).items()}
    assert {pair.changes for pair in pair_cells(sweep(grid(6)), sweep(old)).values()} == {()}


def test_a_table_from_before_there_were_arms_pairs_with_one_that_has_them(sweep):
    new = {
        f"new-{arm}": {"task": "t", "arm": f"{arm}-fast", "process": arm, "iterations": 8} for arm in ("star", "markov")
    }
    old = {arm: {"task": "t", "process": arm, "iterations": 6} for arm in ("star", "markov")}
    pairs = pair_cells(sweep(new), sweep(old))
    assert {cell: pair.candidate for cell, pair in pairs.items()} == {"star": "new-star", "markov": "new-markov"}
    assert {pair.changes for pair in pairs.values()} == {("iterations 6 -> 8",)}
