"""Wealth of bets: an independent recomputation, and that nobody grows rich on nothing, whenever he stops."""

import math

import numpy as np
import pytest

from eval.racing.bets import STAKES, log_evidence


def test_wealth_is_the_average_of_products_of_single_bets():
    differences = [0.7, -3.0, 9.0, 0.1]
    wealth = 0.0
    for stake in STAKES:
        product = 1.0
        for difference in differences:
            product *= 1 + stake / 2.0 * max(-2.0, min(2.0, difference))
        wealth += product / len(STAKES)
    assert log_evidence(np.array(differences), 2.0) == pytest.approx(math.log(wealth))


def test_rows_are_independent_and_missing_differences_are_no_bets():
    rows = np.array([[1.0, np.nan, -0.5], [0.2, 0.2, 0.2]])
    both = log_evidence(rows, 4.0)
    assert both[0] == pytest.approx(log_evidence(np.array([1.0, -0.5]), 4.0))
    assert both[1] == pytest.approx(log_evidence(rows[1], 4.0))
    assert log_evidence(np.full(10, np.nan), 1.0) == pytest.approx(0)


@pytest.mark.parametrize("kind", ["normal", "skewed", "rare losses"])
def test_without_a_difference_the_highest_wealth_ever_passes_a_level_as_seldom_as_promised(kind):
    random = np.random.default_rng(7)
    shape = 4000, 200
    draws = {
        "normal": lambda: random.normal(size=shape),
        "skewed": lambda: random.exponential(size=shape) - 1,
        "rare losses": lambda: np.where(random.random(shape) < 0.05, -1.9, 0.1),
    }[kind]()
    draws = np.clip(draws, -4, 4)
    draws -= draws.mean() if kind == "normal" else max(0.0, draws.mean())
    steps = np.log1p(STAKES * np.clip(draws, -4, 4)[..., None] / 4).cumsum(1)
    highest = (np.logaddexp.reduce(steps, axis=-1) - math.log(len(STAKES))).max(1)
    for level in (0.1, 0.02):
        rate = (highest >= math.log(1 / level)).mean()
        assert rate <= level + 3 * math.sqrt(level / len(highest))
    assert highest.max() > 0  # some are lucky for a while
