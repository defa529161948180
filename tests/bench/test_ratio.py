"""A ratio finds its number in the rows of its bench."""

import math

import pytest

from bench.registry import Ratio

ROWS = [
    {"side": "a", "batch": 1, "seconds": 4.0, "whole": True},
    {"side": "a", "batch": 16, "seconds": 1.0, "whole": None},
    {"side": "b", "batch": 16, "seconds": 2.0, "whole": None},
]


@pytest.mark.parametrize(
    ("where", "over", "value"),
    [
        ({"side": "b"}, "one", 2.0),
        ({"side": "a", "batch": 16}, "one", 1.0),
        ({"side": "a"}, "last", 1.0),
        ({"side": "a"}, "highest", 4.0),
        ({"batch": 16}, "lowest", 1.0),
        ({"side": ("a", "b")}, "sum", 7.0),
        ({"batch": (16, 32)}, "mean", 1.5),
        ({"side": "c"}, "one", None),
    ],
)
def test_rows_that_count(where, over, value):
    assert Ratio("time", "seconds", 1.0, where=where, over=over).read(ROWS) == value


def test_what_could_not_be_measured_is_no_number():
    assert Ratio("whole", "whole", 1).read(ROWS) == 1.0
    assert Ratio("whole", "whole", 1, where={"batch": 16}).read(ROWS) is None
    assert Ratio("rate", "rate", 1).read([{"rate": math.nan}]) is None


def test_a_ratio_that_does_not_tell_its_row_is_refused():
    with pytest.raises(ValueError, match="ratio 'time': 2 rows count"):
        Ratio("time", "seconds", 1.0, where={"batch": 16}).read(ROWS)


def test_the_goal_itself_meets_the_goal():
    assert Ratio("faster", "x", 6.0).met(6.0)
    assert not Ratio("faster", "x", 6.0).met(5.9)
    assert Ratio("share", "x", 0.6, "lower").met(0.6)
    assert not Ratio("share", "x", 0.6, "lower").met(0.61)
