"""What a race typically costs, before anything is solved: seeded, between the bounds, and soon told."""

import time
from types import SimpleNamespace

import pytest

from eval.racing import Margin, RaceRules, halving_rounds
from pipelines.plan.race_cost import typical_cost
from pipelines.plan.race_course import Heat


def heat(cells, measurements, step=8, aside=0, **changes):
    rules = RaceRules({"psnr": Margin(0.05, 4.0)}, (*range(step, measurements, step), measurements), **changes)
    digests = tuple(map(str, range(measurements + aside)))
    runners = tuple(SimpleNamespace(id=str(number)) for number in range(cells))
    return Heat("task", None, runners, digests, measurements, rules, False)


def test_a_smooth_grid_is_cheap_and_a_flat_one_is_not_as_the_bench_says():
    low, high = typical_cost(heat(49, 128), 1)
    assert low / (49 * 128) == pytest.approx(0.19, abs=0.05)
    assert high / (49 * 128) == pytest.approx(0.83, abs=0.1)
    assert typical_cost(heat(49, 128), 1) == (low, high)


@pytest.mark.parametrize("cells", [2, 7, 200])
def test_it_lies_between_the_bounds_and_grows_with_seeds(cells):
    one = heat(cells, 96, aside=10)
    fewest, most = one.cost(2)
    low, high = typical_cost(one, 2)
    assert fewest <= low <= high <= most
    assert (low, high) == tuple(2 * items for items in typical_cost(one, 1))


def test_a_race_of_fixed_cost_has_that():
    ends, stay = halving_rounds(49, 128, 0.1)
    rules = RaceRules({"psnr": Margin(0.0, 1.0)}, ends, stay=stay)
    fixed = Heat("task", None, heat(49, 128).cells, heat(49, 128).digests, 128, rules, False)
    assert typical_cost(fixed, 1) == fixed.cost(1)


def test_a_huge_plan_is_answered_in_seconds():
    begun = time.process_time()
    low, high = typical_cost(heat(1000, 20000, step=1), 1)
    assert time.process_time() - begun < 10
    assert 0 < low < high < 1000 * 20000
