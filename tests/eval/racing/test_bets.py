"""Wealth of bets: an independent recomputation, and that nobody grows rich on nothing, whenever he stops."""

import math

import numpy as np
import pytest

from eval.racing.bets import LARGEST_STAKE, log_evidence, log_wealth


def by_hand(differences, bound):
    wealth, total, squares = 1.0, 0.05, 0.1
    for difference in differences:
        part = max(-bound, min(bound, difference)) / bound
        wealth *= 1 + max(0.0, min(LARGEST_STAKE, total / squares)) * part
        total, squares = total + part, squares + part**2
    return wealth


def test_wealth_is_the_product_of_bets_whose_stakes_follow_from_earlier_ones():
    differences = [0.7, -3.0, 9.0, 0.1, 0.4]
    wealth = np.exp(log_wealth(np.array(differences), 2.0))
    for count in range(1, len(differences) + 1):
        assert wealth[count - 1] == pytest.approx(by_hand(differences[:count], 2.0))


def test_a_later_difference_changes_no_earlier_wealth():
    random = np.random.default_rng(3)
    differences = random.normal(size=(20, 40))
    changed = differences.copy()
    changed[:, 25:] = random.normal(5, 9, size=(20, 15))
    assert np.array_equal(log_wealth(differences, 4.0)[:, :25], log_wealth(changed, 4.0)[:, :25])


def test_rows_are_independent_and_missing_differences_are_no_bets():
    rows = np.array([[1.0, np.nan, -0.5], [0.2, 0.2, 0.2]])
    both = log_wealth(rows, 4.0)[:, -1]
    assert both[0] == pytest.approx(log_wealth(np.array([1.0, -0.5]), 4.0)[-1])
    assert both[1] == pytest.approx(log_wealth(rows[1], 4.0)[-1])
    assert log_wealth(np.full(10, np.nan), 1.0) == pytest.approx(np.zeros(10))


def test_evidence_is_the_highest_of_the_halves_added():
    chase, leads = [2.0, 1.0, -3.0, 0.5], [2.5, 1.5, -2.0, 1.0]
    after = [(by_hand(chase[:n], 4.0) + by_hand(leads[:n], 4.0) / 5) / 2 for n in range(1, 5)]
    assert log_evidence(np.array(chase), np.array(leads), 5, 4.0) == pytest.approx(math.log(max(after)))


def rate_is_held(highest):
    for level in (0.1, 0.02):
        rate = (highest >= math.log(1 / level)).mean()
        assert rate <= level + 3 * math.sqrt(level / len(highest))
    assert highest.max() > 0  # some are lucky for a while


KINDS = {
    "normal": lambda random, shape: random.normal(size=shape),
    "skewed": lambda random, shape: random.exponential(size=shape) - 1,
    "heavy tails": lambda random, shape: random.standard_t(2.5, size=shape),
    "rare losses": lambda random, shape: np.where(random.random(shape) < 0.05, -3.8, 0.2),
    "rare gains": lambda random, shape: np.where(random.random(shape) < 0.05, 3.8, -0.2),
    "ties": lambda random, shape: np.round(random.normal(size=shape)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_difference_the_highest_wealth_ever_passes_a_level_as_seldom_as_promised(kind):
    draws = np.clip(KINDS[kind](np.random.default_rng(7), (4000, 200)), -4, 4)
    rate_is_held(log_wealth(draws - max(0.0, draws.mean()), 4.0).max(1))


@pytest.mark.parametrize("kind", ["normal", "skewed", "rare losses"])
def test_evidence_against_the_best_is_as_seldom_whoever_is_said_to_lead(kind):
    """Nine rivals, all delta worse; the chased one is who gained most last, today's leader who gained most ever."""
    random = np.random.default_rng(11)
    draws = np.clip(KINDS[kind](random, (2000, 9, 100)), -4, 4)
    behind = draws - max(0.0, draws.mean()) - 0.05
    last = np.concatenate([np.zeros((2000, 1), int), behind.argmax(1)[:, :-1]], 1)
    chase = np.take_along_axis(behind, last[:, None], 1)[:, 0]
    best = np.exp(log_wealth(behind + 0.05, 4.0)).max(-1).argmax(1)
    leads = behind[np.arange(2000), best] + 0.05
    rate_is_held(log_evidence(chase, leads, 9, 4.0))
