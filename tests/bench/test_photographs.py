"""Held-out photographs and what the benches say of them."""

import pytest

from bench.photographs import Photographs
from bench.precision import compared
from bench.resting import solved


def test_photographs_come_with_their_prompts_and_are_measured_alike_each_time():
    three, two = (Photographs.first(count, "sr4-32") for count in (3, 2))
    assert three.truth.shape == (3, 3, 32, 32)
    assert all(prompt.strip() for prompt in three.prompts)
    assert three.y[:2].equal(two.y)


@pytest.mark.slow
def test_precisions_are_compared_by_photograph():
    (row,) = compared(Photographs.first(2, "sr4-32"), "fast", ["psnr"])
    assert row["n"] == 2
    assert row["low"] <= row["difference"] <= row["high"]
    assert row["difference"] == pytest.approx(row["bfloat16"] - row["float32"])
    assert row["difference"] != 0


@pytest.mark.slow
def test_rows_that_rest_are_decoded_less():
    photographs = Photographs.first(2, "sr4-32")
    always, resting = (solved(photographs, "fast", level) for level in (0.0, 20.0))
    assert always["calls"] == always["fewest"] == always["most"] == 5 * 10 + 1
    assert resting["most"] < always["calls"]
