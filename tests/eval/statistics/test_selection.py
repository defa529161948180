"""The best of one grid against the best of another: who is chosen, on what, and who judges."""

from dataclasses import replace

import numpy as np
import pytest

from eval.scores import CellValues
from eval.statistics import halves, paired, selected_contrast
from operators import InputError

HARDNESS = np.random.default_rng(0).normal(23, 3, 24)


def cell(values, seeds=1, digest="d"):
    """One value per measurement and seed, seeds fastest; NaN is a failed item."""
    values = np.asarray(values, dtype=float)
    names = np.array([f"m{i // seeds:03d}" for i in range(len(values))], dtype=object)
    return CellValues(
        label="a cell",
        metric="psnr",
        measurements=names,
        seeds=np.arange(len(values)) % seeds,
        digests=np.array([f"{digest}-{name}" for name in names], dtype=object),
        failed=np.isnan(values),
        values=values,
    )


def rows(column, index):
    arrays = {name: getattr(column, name)[index] for name in ("measurements", "seeds", "digests", "failed", "values")}
    return replace(column, **arrays)


def noisy(shift=0.0, seed=0, count=24):
    return HARDNESS[:count] + shift + np.random.default_rng(seed).normal(0, 0.5, count)


def contrast(a, b, **settings):
    return selected_contrast(a, b, **{"better": "higher", "a_label": "star", "b_label": "Markov"} | settings)


def test_halves_are_balanced_and_decided_by_names_and_seed():
    names = [f"m{i}" for i in range(11)]
    first, second = halves(names, 3)
    assert (len(first), len(second)) == (6, 5)
    assert first | second == set(names)
    assert not first & second
    assert halves([*reversed(names), *names], 3) == (first, second)
    assert halves(names, 4) != (first, second)
    assert halves([], 0) == (frozenset(), frozenset())


def test_every_measurement_is_equally_often_in_the_first_half():
    counts = sum(np.array([name in halves("abcdefgh", seed)[0] for name in "abcdefgh"]) for seed in range(400))
    assert np.abs(counts - 200).max() < 4 * np.sqrt(100)


@pytest.mark.parametrize("seeds", [1, 3])
def test_one_cell_on_each_side_is_the_plain_paired_comparison(seeds):
    a, b = (cell(np.repeat(noisy(0.2, s), seeds) + np.arange(24 * seeds) % 3, seeds) for s in (1, 2))
    a.values[4] = np.nan
    found = contrast({"x": a}, {"y": b}, seed=5)
    assert found.result == paired(replace(a, label="star"), replace(b, label="Markov"), seed=5)
    assert found.on_all == found.result
    assert (found.chosen_a, found.chosen_b, found.best_a, found.best_b) == (("x",), ("y",), "x", "y")
    assert (found.inflation, found.reason) == (1.0, None)


@pytest.mark.parametrize("better", ["higher", "lower"])
def test_each_half_is_judged_by_what_the_other_half_chose(better):
    sign = 1 if better == "higher" else -1
    first, _ = halves([f"m{i:03d}" for i in range(24)], seed=7)
    in_first = np.array([f"m{i:03d}" in first for i in range(24)])
    # one cell shines on the first half alone, the other on the second
    cells = {
        "one": cell(HARDNESS + sign * np.where(in_first, 2.0, 0.0)),
        "two": cell(HARDNESS + sign * np.where(in_first, 0.0, 1.0)),
    }
    found = contrast(cells, {"b": cell(HARDNESS)}, better=better, seed=7)
    assert found.chosen_a == ("one", "two")
    assert found.chosen_b == ("b", "b")
    assert found.best_a == "one"
    assert found.result.difference.mean == pytest.approx(0.0)  # each is judged where it does not shine
    assert found.result.p_value == 1.0
    assert found.on_all.difference.mean == pytest.approx(sign * 1.0)
    assert (found.result.a, found.result.b, found.metric) == ("star", "Markov", "psnr")


def test_the_order_of_rows_changes_nothing():
    a = {f"a{i}": cell(np.repeat(noisy(0.1, i), 2), 2) for i in range(4)}
    b = {f"b{i}": cell(np.repeat(noisy(0.0, 10 + i), 2), 2) for i in range(3)}
    order = np.random.default_rng(1).permutation(48)
    shuffled = [{name: rows(column, order) for name, column in arm.items()} for arm in (a, b)]
    assert contrast(*shuffled) == contrast(a, b)
    assert contrast(a, b, seed=1).result != contrast(a, b, seed=2).result


def test_swapping_the_arms_turns_the_sign():
    a, b = ({f"c{i}": cell(noisy(shift, i + 10 * shift)) for i in range(5)} for shift in (1, 0))
    there, back = contrast(a, b), contrast(b, a)
    assert back.result.difference.mean == pytest.approx(-there.result.difference.mean)
    assert back.result.difference.low == pytest.approx(-there.result.difference.high)
    assert back.result.p_value == pytest.approx(there.result.p_value, rel=0.2)
    assert there.result.p_value < 0.01


def test_a_cell_that_failed_on_the_hard_images_does_not_win_by_it():
    easy = np.where(np.argsort(np.argsort(HARDNESS)) < 2, np.nan, HARDNESS - 0.1)  # 22 of 24: full enough to be ranked
    few = np.where(np.argsort(np.argsort(HARDNESS)) < 12, np.nan, HARDNESS + 5)  # 12 of 24: not
    found = contrast({"easy": cell(easy), "few": cell(few), "good": cell(HARDNESS)}, {"b": cell(HARDNESS - 1)})
    assert found.chosen_a == ("good", "good")
    assert found.best_a == "good"


def test_an_unfinished_sweep_is_compared_on_the_rows_both_have():
    a = {"x": rows(cell(noisy(0.0, 1)), np.arange(23)), "y": rows(cell(noisy(1.0, 2)), np.arange(1, 24))}
    found = contrast(a, {"b": rows(cell(noisy(0.0, 3)), np.arange(20))})
    assert found.chosen_a == ("y", "y")
    assert found.result.pairs == 19
    assert found.result.difference.mean == pytest.approx((noisy(1.0, 2) - noisy(0.0, 3))[1:20].mean())


def test_what_chooses_for_each_other_has_a_wider_interval():
    a, b = ({f"c{i}": cell(noisy(0.0, i + start)) for i in range(3)} for start in (0, 100))
    found = contrast(a, b)
    assert 1.05 < found.inflation < 1.3
    # cells that always agree choose nothing, and allow for nothing
    same = {f"c{i}": cell(noisy(0.0, 1) - i) for i in range(3)}
    assert contrast(same, b).inflation < found.inflation
    assert contrast(same, {"b": cell(noisy(0.0, 2))}).inflation == pytest.approx(1.0, abs=0.04)


def test_three_measurements_can_judge_but_not_choose():
    a, b = cell(noisy(1.0, 1, 3)), cell(noisy(0.0, 2, 3))
    assert contrast({"x": a}, {"y": b}).result is not None
    found = contrast({"x": a, "z": a}, {"y": b})
    assert found.result is None
    assert found.reason == "3 measurements cannot both choose a cell and judge it: 4 are needed"
    four = {name: cell(noisy(shift, 1, 4)) for name, shift in (("x", 0.0), ("z", 1.0))}
    assert contrast(four, {"y": cell(noisy(0.0, 2, 4))}).result.p_value >= 2 / 2**4


def test_what_cannot_be_compared_says_why():
    a, nothing = cell(HARDNESS), cell(np.full(24, np.nan))
    for words, left, right in (
        ("no pair with finite psnr", {"x": a}, {"y": nothing}),
        ("the 2 cells of Markov have too few rows in common", {"x": a}, {"y": nothing, "z": nothing}),
        ("24 of 24 measurements have other content", {"x": a}, {"y": cell(HARDNESS, digest="other")}),
        ("A holds psnr and B ssim", {"x": a}, {"y": replace(a, metric="ssim")}),
    ):
        found = contrast(left, right)
        assert found.result is None
        assert words in found.reason
    with pytest.raises(InputError, match="Markov has no cells"):
        contrast({"x": a}, {})
