"""Change points: rare where nothing changed, found where something did, the same every time."""

import numpy as np
import pytest

from eval.trend import change_points
from operators import InputError


def share_marked(draw, series=300, resamples=199):
    return np.mean([bool(change_points(draw(np.random.default_rng(i)), resamples=resamples)) for i in range(series)])


@pytest.mark.parametrize(
    "draw",
    [
        lambda random: random.normal(23, 0.05, 20),
        lambda random: random.standard_t(2, 14),
        lambda random: random.integers(0, 2, 25).astype(float),
    ],
    ids=["normal", "heavy tails", "two values"],
)
def test_stable_series_are_marked_as_seldom_as_promised(draw):
    assert share_marked(draw) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 300)


@pytest.mark.parametrize(
    ("shift", "series", "marked", "placed"), [(2, 1, 95, 85), (2, 12, 80, 75), (3, 12, 97, 95)], ids=str
)
def test_a_shift_is_found_near_its_place_in_one_series_or_twelve(shift, series, marked, placed):
    def shifted(seed):
        values = np.random.default_rng(seed).normal(0, 1, 30)
        values[20:] -= shift
        return change_points(values, alpha=0.05 / series, resamples=max(499, 96 * series))

    found = [shifted(seed) for seed in range(100)]
    near = [marks for marks in found if any(abs(mark.index - 20) <= 2 for mark in marks)]
    assert sum(map(bool, found)) >= marked
    assert len(near) >= placed
    assert np.mean([marks[0].after - marks[0].before for marks in near]) == pytest.approx(-shift, abs=0.5)


@pytest.mark.parametrize(("series", "nights"), [(1, 2), (12, 4)])
def test_a_jump_between_equal_nights_is_marked_after_a_few(series, nights):
    level, alpha = [23.5] * 12, 0.05 / series
    assert change_points([*level, *[22.0] * (nights - 1)], alpha=alpha) == []
    (mark,) = change_points([*level, *[22.0] * nights], alpha=alpha)
    assert (mark.index, mark.before, mark.after) == (12, 23.5, 22.0)
    assert mark.p_value < alpha


def test_two_changes_are_told_apart_with_the_levels_between():
    random = np.random.default_rng(0)
    values = np.concatenate([random.normal(level, 0.1, 12) for level in (20, 18, 21)])
    marks = change_points(values)
    assert [mark.index for mark in marks] == [12, 24]
    assert [round(mark.after) for mark in marks] == [18, 21]
    assert marks[0].after == marks[1].before


def test_nights_without_a_value_are_passed_over():
    values = [np.nan, 1.0, 1.1, 0.9, 1.0, np.nan, 1.05, 5.0, np.inf, 5.1, 4.9, 5.0, 5.05]
    (mark,) = change_points(values)
    assert mark.index == 7


def test_equal_and_short_series_have_no_change():
    assert change_points([]) == change_points([1.0]) == change_points([1.0, 2.0, 3.0]) == []
    assert change_points([0.1 + 0.2, 0.3] * 20) == []


def test_the_answer_is_the_same_every_time():
    values = np.random.default_rng(3).normal(0, 1, 20).cumsum()
    assert change_points(values) == change_points(list(values))


def test_settings_are_checked():
    for options, said in (({"alpha": 0}, "alpha is 0"), ({"resamples": 10}, "resamples is 10")):
        with pytest.raises(InputError, match=said):
            change_points([1.0, 2.0], **options)
