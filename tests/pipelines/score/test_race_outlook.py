"""Who is likely to go on in a race, and who must, before its round is decided."""

import numpy as np
import pytest

from eval.racing import Margin, RaceRules, standing
from pipelines.score.race_outlook import outlook

ROUND = 8


def grid(means, noise, measurements=ROUND, seed=0):
    rng = np.random.default_rng(seed)
    shared = rng.normal(0, 3, measurements)
    return np.array(means)[:, None] + shared + rng.normal(0, noise, (len(means), measurements))


def rules(stay=None, ends=(ROUND, 2 * ROUND), metrics=("psnr",)):
    return RaceRules({name: Margin(0.05, 4.0) for name in metrics}, ends, 0.05, stay)


def all_of(values):
    return np.arange(len(values)), np.ones(values.shape, bool)


def test_the_leader_is_first_and_who_is_far_behind_is_not_there():
    values = grid([20.0, 22.0, 21.9, 14.0], noise=0.3)
    inside, known = all_of(values)
    assert outlook({"psnr": values}, known, inside, rules(), 0) == [1, 2]


def test_nobody_goes_on_where_the_leader_would_be_alone():
    values = grid([14.0, 22.0, 15.0], noise=0.3)
    inside, known = all_of(values)
    assert outlook({"psnr": values}, known, inside, rules(), 0) == []


def test_who_is_behind_in_one_metric_alone_stays():
    values = grid([22.0, 14.0], noise=0.3)
    inside, known = all_of(values)
    both = {"psnr": values, "ssim": -values}
    assert sorted(outlook(both, known, inside, rules(metrics=("psnr", "ssim")), 0)) == [0, 1]


def test_a_cell_without_scores_is_not_counted_on():
    values = grid([22.0, 22.0, 22.0], noise=0.3)
    inside, known = all_of(values)
    known[2], values[2] = False, np.nan
    assert 2 not in outlook({"psnr": values}, known, inside, rules(), 0)


@pytest.mark.parametrize("seed", range(20))
def test_in_halving_only_those_go_on_that_stay_whatever_comes(seed):
    rng = np.random.default_rng(seed)
    values = grid(rng.normal(20, 0.5, 12), noise=1.0, seed=seed)
    inside, known = all_of(values)
    stay = rules(stay=(6,), ends=(ROUND,))
    unscored = rng.permutation(12)[:4]
    known[unscored] = False
    sure = outlook({"psnr": values}, known, inside, stay, 0)
    assert len(sure) == 2
    for worst in (values[unscored], values[unscored] + 100):
        values[unscored] = worst
        after = standing([str(place) for place in range(12)], {"psnr": values}, np.ones_like(known), stay)
        assert {str(place) for place in sure} <= set(after.inside)


def test_in_halving_nobody_is_certain_while_too_few_are_scored_or_some_failed():
    values = grid([20.0, 21.0, 22.0, 23.0], noise=0.1)
    inside, known = all_of(values)
    assert outlook({"psnr": values}, known, inside, rules(stay=(2, 1)), 0) == [3, 2]
    known[:2] = False
    assert outlook({"psnr": values}, known, inside, rules(stay=(2, 1)), 0) == []
    known[:], values[0, 0] = True, np.nan
    assert outlook({"psnr": values}, known, inside, rules(stay=(2, 1)), 0) == []
