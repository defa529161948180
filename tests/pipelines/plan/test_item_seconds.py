"""Seconds of cells, added up over what is left and over races."""

import pytest

from eval.racing import RaceRules
from pipelines.plan.cells import Cell
from pipelines.plan.item_seconds import ItemSeconds, bill
from pipelines.plan.race_course import Heat

SECONDS = ItemSeconds({"dear": (9.0, 10.0, 12.0), "cheap": (0.9, 1.0, 1.2)}, "trials")


def heat(rounds=(2, 4, 6), pool=6, measurements=8):
    cells = tuple(Cell(place, id, "", "task", "arm", "g2d2", "", {}) for place, id in enumerate(SECONDS.by_cell))
    return Heat("task", None, cells, tuple(map(str, range(measurements))), pool, RaceRules({}, rounds, 0.05), False)


def test_each_cell_counts_by_its_own_items():
    assert SECONDS.total({"dear": 2, "cheap": 10}) == pytest.approx((27.0, 30.0, 36.0))
    assert SECONDS.total({}) == (0.0, 0.0, 0.0)


def test_a_race_costs_at_least_its_first_round_and_at_most_the_grid():
    fewest, most = heat().cost(seeds=1)
    low, high = SECONDS.race(heat(), seeds=1)
    assert (fewest, most) == (2 * 2 + 2, 2 * 6 + 2)
    assert low == pytest.approx(2 * (9.0 + 0.9) + 2 * 0.9)
    assert high == pytest.approx(8 * 13.2)  # all of the grid, since ten more items of the dearest would be more
    assert SECONDS.race(heat(), seeds=3) == pytest.approx((3 * low, 3 * high))


def test_a_bill_divides_hours_and_not_money():
    facts = bill((3600.0, 7200.0), devices=4, shards=40, price=2.0)
    assert facts == {"device_hours": [1.0, 2.0], "hours": [0.25, 0.5], "money": [2.0, 4.0]}
    assert "money" not in bill((1.0,), 1, 1, None)


@pytest.mark.parametrize(("shards", "hours"), [(4, 2.0), (8, 1.0), (9, 16 / 9), (1, 8.0), (0, 0.0)])
def test_the_busiest_of_eight_devices_decides(shards, hours):
    """Four shards keep four of them busy, and nine keep one twice as long as the others."""
    assert bill((8 * 3600.0,), 8, shards, None)["hours"] == pytest.approx([hours])
