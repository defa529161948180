"""Races on made-up scores: who leaves, when, and how seldom the best does."""

import math

import numpy as np
import pytest

from eval.racing import Margin, RaceRules, halving_rounds, standing
from operators import InputError

PSNR = {"psnr": Margin(0.05, 4.0)}


def rules(measurements, step=8, **changes):
    ends = (*range(step, measurements, step), measurements)
    return RaceRules(changes.pop("margins", PSNR), ends, **changes)


def race(merits, the_rules, known=None):
    merits = {"psnr": merits} if isinstance(merits, np.ndarray) else merits
    shape = next(iter(merits.values())).shape
    cells = [f"c{index}" for index in range(shape[0])]
    return standing(cells, merits, np.ones(shape, bool) if known is None else known, the_rules)


def scores(means, measurements, seed=0, spread=1.0):
    """Cells with the same hard and easy measurements and noise of their own."""
    random = np.random.default_rng(seed)
    difficulty = random.normal(20, 3, measurements)
    return np.array(means)[:, None] + difficulty + spread * random.normal(size=(len(means), measurements))


def test_clearly_worse_cells_leave_early_and_say_by_whom_and_by_how_much():
    over = race(scores([0.0, -3.0, -0.1], 400), rules(400))
    (first, *_) = over.left
    assert (first.cell, first.reason) == ("c1", "beaten")
    assert first.seen <= 48
    beaten = first.beaten["psnr"]
    assert beaten.leader in ("c0", "c2")
    assert beaten.difference == pytest.approx(3.0, abs=0.6)
    assert beaten.evidence >= 1 / 0.05
    assert "c0" in over.inside
    assert over.over


def test_a_race_ends_when_one_is_left():
    over = race(scores([0.0, -3.0, -2.5], 400), rules(400))
    assert over.inside == ("c0",)
    assert over.leader == "c0"
    assert over.over
    assert over.rounds < 10
    assert over.seen("c0", rules(400).ends) == 8 * over.rounds


def test_a_round_waits_until_every_cell_that_is_in_has_its_scores():
    merits, the_rules = scores([0.0, -3.0, -0.1], 80), rules(80)
    known = np.ones(merits.shape, bool)
    whole = race(merits, the_rules)
    known[2, 20] = False
    waiting = race(merits, the_rules, known)
    assert waiting.rounds == 2
    assert not waiting.over
    assert waiting.left == tuple(one for one in whole.left if one.round <= 2)
    gone = whole.left[0]
    known[2, 20], known[int(gone.cell[1]), gone.seen :] = True, False  # what a cell would have done after it left
    assert race(merits, the_rules, known) == whole


def test_scores_beyond_the_present_round_decide_nothing():
    merits, the_rules = scores([0.0, -3.0, -0.1, -0.2], 80, seed=3), rules(80)
    changed = merits.copy()
    changed[:, 40:] = -changed[:, 40:]
    known = np.zeros(merits.shape, bool)
    known[:, :40] = True
    assert race(merits, the_rules, known) == race(changed, the_rules, known)


def test_with_two_metrics_a_cell_leaves_only_when_both_beat_it():
    margins = {"psnr": Margin(0.05, 4.0), "lpips": Margin(0.003, 0.3)}
    random = np.random.default_rng(1)
    psnr = scores([0.0, -3.0, -3.0], 200)
    lpips = -np.array([0.3, 0.2, 0.5])[:, None] + 0.05 * random.normal(size=(3, 200))
    over = race({"psnr": psnr, "lpips": lpips}, rules(200, margins=margins))
    assert [one.cell for one in over.left] == ["c2"]
    assert set(over.left[0].beaten) == {"psnr", "lpips"}


def test_a_cell_without_any_value_leaves_and_failures_of_others_are_no_bets():
    merits = scores([0.0, -3.0, 0.0], 80)
    merits[2] = np.nan
    merits[0, ::11] = np.nan
    over = race(merits, rules(80))
    assert next((one.cell, one.reason, one.seen) for one in over.left) == ("c2", "nothing scored", 8)
    assert over.inside == ("c0",)


def test_a_cell_that_fails_often_does_not_lead():
    merits = scores([5.0, 0.0], 80)
    merits[0, ::2] = np.nan
    over = race(merits, rules(80))
    assert over.leader == "c1"
    assert over.inside == ("c0", "c1")  # nor is it beaten on what it has


def test_a_cell_that_is_always_perfect_wins_and_differences_stay_numbers():
    merits = scores([0.0, 0.0, 2.0], 80)
    merits[0] = np.inf
    over = race(merits, rules(80))
    assert over.leader == "c0"
    assert over.inside == ("c0",)
    assert all(np.isfinite(one.beaten["psnr"].difference) and one.reason == "beaten" for one in over.left)


def test_perfect_cells_are_level_with_each_other():
    merits = np.full((3, 64), np.inf)
    over = race(merits, rules(64))
    assert len(over.inside) == 3
    merits[2, ::2] = 30.0
    over = race(merits, rules(64))
    assert over.inside == ("c0", "c1")


def test_one_perfect_copy_counts_no_more_than_the_largest_difference():
    merits = scores([0.0, -2.0], 64, spread=0.3)
    merits[1, 5] = np.inf
    assert race(merits, rules(64)).inside == ("c0",)


def test_infinitely_bad_is_a_failure():
    merits = scores([0.0, 0.0], 64)
    merits[1] = -np.inf
    assert race(merits, rules(64)).left[0].reason == "nothing scored"


def test_what_those_that_left_have_later_decides_nothing_also_where_somebody_is_perfect():
    """A whole grid in the folder gives the race that one without those scores gives."""
    merits = scores([0.0, 0.2, -3.0], 160)
    merits[0, 1::7] = np.inf
    whole = race(merits, rules(160))
    gone = next(one for one in whole.left if one.cell == "c2")
    assert gone.seen < 160
    merits[2, gone.seen :] = 1e6
    assert race(merits, rules(160)) == whole


def test_where_nothing_is_scored_at_all_nobody_wins_by_that():
    over = race(np.full((3, 16), np.nan), rules(16))
    assert len(over.inside) == 3
    assert not over.left
    assert over.leader is None
    assert over.over


def failing_on_the_hard(count, cells, measurements, seed):
    """c1 is worse by 0.3 wherever it has a value, and has none of the hardest: by its own mean it is ahead."""
    random = np.random.default_rng(seed)
    difficulty = random.normal(20, 3, measurements)
    merits = difficulty + np.array([0.0, *[-0.3] * (cells - 1)])[:, None]
    merits += 0.5 * random.normal(size=merits.shape)
    merits[1, np.argsort(difficulty)[:count]] = np.nan
    return merits


def test_no_cell_wins_by_failing_on_hard_measurements():
    won = looks_best = 0
    for seed in range(40):
        merits = failing_on_the_hard(5, 3, 64, seed)
        looks_best += np.nanmean(merits[1]) > merits[0].mean()
        over = race(merits, rules(64))
        assert "c0" in over.inside
        won += over.leader == "c1"
    assert looks_best > 30
    assert won <= 1


def test_neither_does_it_where_halves_leave():
    ends, stay = halving_rounds(4, 64, 0.5)
    for seed in range(20):
        merits = failing_on_the_hard(30, 4, 64, seed)
        assert race(merits, RaceRules(PSNR, ends, stay=stay)).leader != "c1"


def test_a_few_failures_at_random_do_not_choose_another_winner():
    """With 3 % of 49 cells the measurements that none of them lacks are few, and their means are another lottery."""
    regrets, without = [], []
    for seed in range(16):
        random = np.random.default_rng(seed)
        merits = scores(-np.append(0.0, random.uniform(0, 0.6, 48)), 128, seed, spread=0.7)
        means = merits.mean(1)
        without.append(means.max() - means[int(race(merits, rules(128)).leader[1:])])
        merits[random.random(merits.shape) < 0.03] = np.nan
        regrets.append(means.max() - means[int(race(merits, rules(128)).leader[1:])])
    assert np.mean(without) < 0.005
    assert np.mean(regrets) < 0.01


def test_a_few_failures_in_a_row_are_no_reason_to_leave():
    merits = scores([0.3, 0.0], 64)
    merits[0, :7] = np.nan
    over = race(merits, rules(64, step=1))
    assert "c0" in over.inside
    merits[0, :8] = np.nan
    assert race(merits, rules(64, step=1)).left[0].seen == 8


def test_a_chain_of_cells_that_are_each_worse_by_less_than_delta_does_not_lead_away_from_the_best():
    """Whoever drops the best by less than delta may itself be dropped by one still worse: it counts if it wins."""
    races, alpha, step, lost, worse = 100, 0.2, 0.04, 0, 0
    for seed in range(races):
        merits = -step * np.arange(8)[:, None] + rare(np.random.default_rng(seed), (8, 96), -3.9, often=0.1)
        merits[0] = 0.0
        over = race(merits, rules(96, alpha=alpha))
        lost += "c0" not in over.inside
        worse += "c0" not in over.inside and int(over.leader[1:]) * step > 0.05
    assert lost > 0  # the ladder is one that can be climbed down
    assert worse / races <= alpha


def test_ties_stay_to_the_end():
    merits = scores([0.0], 64).repeat(5, 0)
    over = race(merits, rules(64))
    assert len(over.inside) == 5
    assert over.leader == "c0"
    assert over.over


NULLS = {
    "normal": lambda random, shape: random.normal(size=shape),
    "skewed": lambda random, shape: random.exponential(size=shape) - 1,
    "heavy tails": lambda random, shape: random.standard_t(2.5, size=shape),
    "rare disasters": lambda random, shape: np.where(random.random(shape) < 0.03, -3.9, 3.9 * 0.03 / 0.97),
    "ties and failures": lambda random, shape: np.where(
        random.random(shape) < 0.1, np.nan, np.round(random.normal(size=shape))
    ),
}


def often_lost(kind, races, alpha, cells, **changes):
    """How often the best cell is, which is better than all others by just more than delta: every way counts."""
    lost = 0
    for number in range(races):
        merits = NULLS[kind](np.random.default_rng(number), (cells, 64))
        merits[0] += 0.0501
        lost += "c0" not in race(merits, rules(64, alpha=alpha, **changes)).inside
    return lost / races


@pytest.mark.parametrize("kind", NULLS)
def test_the_best_cell_is_lost_less_often_than_alpha(kind):
    races, alpha = 200, 0.2
    rate = often_lost(kind, races, alpha, cells=6, step=16)
    assert rate <= alpha + 2 * math.sqrt(alpha * (1 - alpha) / races)


@pytest.mark.slow
@pytest.mark.parametrize("cells", [2, 12])
@pytest.mark.parametrize("kind", NULLS)
def test_so_it_is_in_thousands_of_races_and_with_many_looks(kind, cells):
    races, alpha = 2000, 0.1
    rate = often_lost(kind, races, alpha, cells, step=4)
    assert rate <= alpha + 2 * math.sqrt(alpha * (1 - alpha) / races)


def rare(random, shape, size, often=0.03):
    """Mostly a little, now and then a lot the other way; 0 in the mean."""
    return np.where(random.random(shape) < often, size, -size * often / (1 - often))


def level(random, shape):
    return 0.02 * random.normal(size=shape)


SKEWED = {
    "rare gains of the best": lambda random, best, rivals: (rare(random, best, 3.9), level(random, rivals)),
    "rare losses of rivals": lambda random, best, rivals: (level(random, best), rare(random, rivals, -3.9)),
    "losses of all rivals at once": lambda random, best, rivals: (
        level(random, best), rare(random, best, -3.9) + level(random, rivals),
    ),
    "exponential gains of the best": lambda random, best, rivals: (
        0.5 * random.exponential(size=best) - 0.5, level(random, rivals),
    ),
    "exponential losses of rivals": lambda random, best, rivals: (
        level(random, best), 0.5 - 0.5 * random.exponential(size=rivals),
    ),
}  # fmt: skip
"""The best cell and its rivals by laws of their own, all of mean 0: on most measurements the best is behind."""


def often_lost_to_skewed(kind, races, alpha, cells, step, measurements=160):
    lost = 0
    for number in range(races):
        best, rivals = SKEWED[kind](np.random.default_rng(number), measurements, (cells - 1, measurements))
        over = race(np.vstack([best + 0.0501, rivals]), rules(measurements, step, alpha=alpha))
        lost += "c0" not in over.inside
    return lost / races


@pytest.mark.parametrize("kind", SKEWED)
def test_a_best_cell_that_is_mostly_behind_is_lost_less_often_than_alpha(kind):
    races, alpha = 300, 0.2
    rate = often_lost_to_skewed(kind, races, alpha, cells=3, step=32)
    assert 0 < rate <= alpha + 2 * math.sqrt(alpha * (1 - alpha) / races)  # these races are hard enough to lose some


@pytest.mark.slow
@pytest.mark.parametrize("cells", [2, 12])
@pytest.mark.parametrize("kind", SKEWED)
def test_so_it_is_in_thousands_of_skewed_races_and_with_many_looks(kind, cells):
    races, alpha = 2000, 0.1
    rate = often_lost_to_skewed(kind, races, alpha, cells, step=4)
    assert rate <= alpha + 2 * math.sqrt(alpha * (1 - alpha) / races)


def test_forty_rivals_that_are_mostly_ahead_come_as_close_to_alpha_as_they_may():
    """Bets without a union bound, in hindsight, with twice delta or to half the threshold lose more of these races."""
    races, lost = 200, 0
    for seed in range(races):
        merits = np.where(np.random.default_rng(seed).random((40, 160)) < 0.1, -3.9, 0.4333)
        merits[0] = 0.0501
        lost += "c0" not in race(merits, rules(160, alpha=0.1)).inside
    assert 0.03 < lost / races <= 0.13


def test_the_promise_is_used_and_not_only_kept():
    """With a best cell that is worse than it should be the same races do lose it: the bets have power."""
    merits = scores([0.0, *[1.0] * 5], 64, seed=2)
    assert "c0" not in race(merits, rules(64)).inside


def test_halving_costs_what_it_may_and_keeps_the_best_halves():
    ends, stay = halving_rounds(49, 128, 0.1)
    assert stay == (25, 13, 7, 4, 2, 1)
    cost = sum(count * step for count, step in zip((49, *stay[:-1]), np.diff(ends, prepend=0), strict=True))
    assert 0.085 < cost / (49 * 128) <= 0.1
    merits = scores(np.linspace(-4.8, 0, 49), 128, spread=0.3)
    over = race(merits, RaceRules(PSNR, ends, stay=stay))
    assert over.inside == ("c48",)
    assert over.over
    assert {one.reason for one in over.left} == {"not among the best"}


@pytest.mark.parametrize("budget", [0.1, 0.2, 0.4, 0.6, 0.9])
@pytest.mark.parametrize(("cells", "measurements"), [(2, 640), (7, 100), (40, 128), (49, 128), (49, 1000), (200, 300)])
def test_halving_spends_its_budget_also_where_late_rounds_have_seen_everything(cells, measurements, budget):
    ends, stay = halving_rounds(cells, measurements, budget)
    steps = np.diff(ends, prepend=0)
    assert ends[-1] <= measurements
    assert (steps >= 0).all()
    assert steps[0] > 0
    cost = sum(count * step for count, step in zip((cells, *stay[:-1]), steps, strict=True))
    assert 0.95 * budget < cost / (cells * measurements) <= budget


def test_a_budget_that_buys_no_measurement_is_refused():
    with pytest.raises(InputError, match=r"race\.budget: 0\.01 of 49 cells on 128 measurements .* at least 0\.047"):
        halving_rounds(49, 128, 0.01)
