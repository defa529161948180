"""Grids: what they expand to, and what they refuse."""

import pytest

from operators import InputError
from operators.validation import validate
from pipelines.plan.grid import Grid


def grid(**values):
    return validate(Grid, values, where="grid")


def test_crossed_zipped_and_given_points_multiply():
    points = list(
        grid(
            cross={"process": ["star", "markov"], "gamma": [0.1, 0.5]},
            zipped=[{"learning_rate": [10, 20, 30], "lambda_lr": [1, 2, 3]}],
            points=[{"eta_kl": 0.1}, {"eta_kl": 0.2, "guidance": 3}],
        )
    )
    assert len(points) == 2 * 2 * 3 * 2
    assert {(point["learning_rate"], point["lambda_lr"]) for point in points} == {(10, 1), (20, 2), (30, 3)}
    assert sum("guidance" in point for point in points) == 12


def test_nothing_varied_is_one_cell():
    assert list(grid()) == [{}]


def test_ranges_hold_their_ends_and_round_numbers():
    (log, even) = (dict(grid(cross={"eta_kl": axis}).axes())["eta_kl"] for axis in (
        {"log": [0.0001, 1], "count": 5}, {"range": [0, 0.3], "count": 4},
    ))  # fmt: skip
    assert log == [0.0001, 0.001, 0.01, 0.1, 1.0]
    assert even == [0.0, 0.1, 0.2, 0.3]


def test_what_matches_an_exclusion_does_not_run():
    points = list(
        grid(
            cross={"process": ["star", "markov"], "gamma": [0.1, 0.5, 1]},
            exclude=[{"process": "markov", "gamma": [0.1, 0.5]}],
        )
    )
    assert [point["gamma"] for point in points if point["process"] == "markov"] == [1]
    assert len(points) == 4


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"cross": {"eta_kl": {"range": [0, 1], "count": 10**9}}}, "must be less than or equal to 100000"),
        (
            {"cross": {name: {"range": [0, 1], "count": 1000} for name in ("eta_kl", "gamma", "lambda_kl")}},
            "it has 1000000000 combinations and may have 100000",
        ),
        (
            {"cross": {"gamma": {"range": [0, 1], "count": 1000}}, "points": [{"eta_kl": k} for k in range(1, 102)]},
            "it has 101000 combinations",
        ),
        ({"cross": {"eta_kl": []}}, "eta_kl has no values"),
        ({"cross": {"eta_kl": [1.0, 1.0]}}, "names a value twice"),
        ({"cross": {"eta_kl": {"log": [0, 1], "count": 3}}}, "log needs numbers above 0 and runs from 0 to 1"),
        ({"cross": {"eta_kl": {"range": [0, 1], "log": [1, 2], "count": 3}}}, "either range or log"),
        ({"zipped": [{"gamma": [0.1], "eta_kl": [1, 2]}]}, "equally many values"),
        ({"cross": {"gamma": [0.1]}, "zipped": [{"gamma": [0.1]}]}, "varied in two places"),
        ({"crossed": {}}, "unknown setting 'crossed' (did you mean 'cross'?): known settings are cross, zipped"),
    ],
)
def test_impossible_grids_are_told_in_a_sentence(values, said):
    with pytest.raises(InputError, match="grid") as caught:
        grid(**values)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
