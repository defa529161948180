"""Paired comparison of cells, and Holm's correction."""

import numpy as np
import pytest
from scipy import stats

from eval.scores import ScoreTable
from eval.statistics import corrected_together, holm, paired
from operators import InputError

RANDOM = np.random.default_rng(0)
HARDNESS = RANDOM.normal(23, 3, 40)


def noisy(shift, seed):
    return HARDNESS + shift + np.random.default_rng(seed).normal(0, 0.5, 40)


def test_a_difference_hidden_by_the_spread_of_images_is_found(scores):
    table = scores({"a": {"psnr": noisy(0.5, 1)}, "b": {"psnr": noisy(0.0, 2)}})
    found = paired(table.values("a", "psnr"), table.values("b", "psnr"))
    difference = noisy(0.5, 1) - noisy(0.0, 2)
    assert found.difference.mean == pytest.approx(difference.mean())
    assert found.mean_a - found.mean_b == pytest.approx(difference.mean())
    assert 0 < found.difference.low < difference.mean() < found.difference.high
    assert found.p_value < 0.01 < stats.ttest_ind(noisy(0.5, 1), noisy(0.0, 2)).pvalue
    assert found.effect_size == pytest.approx(difference.mean() / difference.std(ddof=1))
    assert (found.pairs, found.p_corrected) == (40, None)


def test_swapping_the_cells_turns_the_sign(scores):
    table = scores({"a": {"psnr": noisy(0.3, 1)}, "b": {"psnr": noisy(0.0, 2)}})
    a, b = table.values("a", "psnr"), table.values("b", "psnr")
    there, back = paired(a, b), paired(b, a)
    assert back.difference.mean == pytest.approx(-there.difference.mean)
    assert back.effect_size == pytest.approx(-there.effect_size)


def test_seeds_of_a_measurement_are_one_cluster(scores):
    three = {name: {"psnr": np.repeat(noisy(0.2, seed), 3)} for name, seed in (("a", 1), ("b", 2))}
    one = {name: {"psnr": noisy(0.2, seed)} for name, seed in (("a", 1), ("b", 2))}
    many, few = (paired(t.values("a", "psnr"), t.values("b", "psnr")) for t in (scores(three, seeds=3), scores(one)))
    assert (many.pairs, many.difference.clusters) == (120, 40)
    assert many.difference.low == pytest.approx(few.difference.low)
    assert many.p_value == pytest.approx(few.p_value)
    assert many.effect_size == pytest.approx(few.effect_size)


def test_pairs_without_two_finite_values_are_left_out_and_counted(scores):
    a, b = noisy(0.0, 1), noisy(0.0, 2)
    a[3], b[5] = np.inf, np.nan
    table = scores({"a": {"psnr": a}, "b": {"psnr": b}})
    found = paired(table.values("a", "psnr"), table.values("b", "psnr"))
    kept = [i for i in range(40) if i not in (3, 5)]
    assert (found.pairs, found.difference.excluded) == (38, 2)
    assert found.mean_a == pytest.approx(a[kept].mean())


def test_identical_cells_have_no_difference_and_no_effect_size(scores):
    table = scores({"a": {"psnr": HARDNESS}, "b": {"psnr": HARDNESS}})
    found = paired(table.values("a", "psnr"), table.values("b", "psnr"))
    assert (found.difference.low, found.difference.high, found.p_value) == (0.0, 0.0, 1.0)
    assert found.effect_size is None


def test_cells_that_saw_other_data_are_refused_with_what_differs(scores):
    whole, short = scores({"a": {"psnr": HARDNESS}}), scores({"a": {"psnr": HARDNESS[:37]}})
    other = scores({"a": {"psnr": HARDNESS}}, digest="other")
    seeded = scores({"a": {"psnr": np.repeat(HARDNESS, 2)}}, seeds=2)
    a = whole.values("a", "psnr")
    for other_table, words in (
        (short, "3 measurements are only in A: m0037, m0038, m0039"),
        (seeded, "40 seeds are only in B: m0000 seed 1, m0001 seed 1, .* and 35 more"),
        (other, "40 of 40 measurements have other content: m0000, m0001"),
    ):
        with pytest.raises(InputError, match=words):
            paired(a, other_table.values("a", "psnr"))
    with pytest.raises(InputError, match="only in B: m0037"):
        paired(short.values("a", "psnr"), a)


def test_an_unknown_digest_does_not_forbid_the_comparison(arrow_scores):
    table = arrow_scores({"a": {"psnr": HARDNESS}})
    bare = ScoreTable(table.drop_columns(["measurement_digest"]))
    found = paired(ScoreTable(table).values("a", "psnr"), bare.values("a", "psnr"))
    assert found.pairs == 40


def test_holm_by_hand():
    # sorted 0.01, 0.02, 0.03, 0.04 times 4, 3, 2, 1 is 0.04, 0.06, 0.06, 0.04; never falling: 0.04, 0.06, 0.06, 0.06
    assert holm([0.03, 0.01, 0.04, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([0.6, 0.7]).tolist() == [1.0, 1.0]
    assert holm([]).tolist() == []
    with pytest.raises(InputError, match="from 0 to 1"):
        holm([0.5, np.nan])


def test_holm_keeps_the_chance_of_any_false_rejection():
    p = np.random.default_rng(1).uniform(size=(2000, 30))
    false_alarms = np.mean([holm(row).min() <= 0.05 for row in p])
    assert 0.03 < false_alarms < 0.07


def test_comparisons_are_corrected_together(scores):
    table = scores(
        {cell: {"psnr": noisy(shift, i)} for i, (cell, shift) in enumerate((("a", 0.6), ("b", 0.0), ("c", 0.0)))}
    )
    found = [paired(table.values(a, "psnr"), table.values(b, "psnr")) for a, b in (("a", "b"), ("a", "c"), ("b", "c"))]
    assert [r.p_corrected for r in corrected_together(found)] == holm([r.p_value for r in found]).tolist()
    assert corrected_together([]) == []
