"""What a search proposes: the same for the same seed and scores, never twice, within what was allowed."""

import math
import re
import subprocess
import sys

import pytest

from operators import InputError
from operators.validation import validate
from pipelines.plan.grid import Grid
from pipelines.plan.proposals import propose

AXES = {"eta_kl": {"log": [1e-5, 1e-1]}, "gamma": {"range": [0, 1]}, "process": ["star", "markov"]}


def axes(**values):
    return validate(Grid, {"search": values or AXES, "trials": 2}, where="grid").search


def level(point):
    """Smooth, best at eta_kl 0.001 and gamma 0.3."""
    return -((math.log10(point["eta_kl"]) + 3) ** 2) - 4 * (point["gamma"] - 0.3) ** 2 - (point["process"] == "markov")


def searched(seed, batches, size=8):
    tried = []
    for number in range(batches):
        tried += [(point, level(point)) for point in propose(axes(), tried, size, seed, number)]
    return tried


def test_the_same_seed_and_scores_propose_the_same_and_others_do_not():
    assert searched(3, 3) == searched(3, 3)
    assert searched(3, 1) != searched(4, 1)
    tried = searched(3, 1)
    other = [(point, -value) for point, value in tried]
    assert propose(axes(), tried, 4, 3, 1) != propose(axes(), other, 4, 3, 1)


def test_proposals_are_new_within_the_ends_and_short_enough_to_read():
    points = [point for point, _ in searched(0, 4)]
    assert len({repr(point) for point in points}) == len(points) == 32
    assert all(1e-5 <= point["eta_kl"] <= 1e-1 and 0 <= point["gamma"] <= 1 for point in points)
    assert {point["process"] for point in points} == {"star", "markov"}
    assert all(point["gamma"] == float(f"{point['gamma']:.6g}") for point in points)


def test_later_batches_are_better_than_the_first_which_is_drawn_at_random():
    better = 0
    for seed in range(6):
        tried = searched(seed, 4)
        values = [value for _, value in tried]
        better += max(values[8:]) > max(values[:8])
        assert sum(values[-8:]) > sum(values[:8])
    assert better >= 5


def test_lists_are_tried_to_their_end():
    lists = axes(steps=[4, 8, 16], process=["star", "markov"])
    first = propose(lists, [], 4, 0, 0)
    rest = propose(lists, [(point, 1.0) for point in first], 2, 0, 1)
    assert len({repr(point) for point in [*first, *rest]}) == 6


def test_what_could_not_be_scored_counts_as_the_worst_and_teaches_nothing_where_nothing_could():
    tried = searched(1, 1)
    lowest = min(value for _, value in tried)
    failed = [(point, None if value == lowest else value) for point, value in tried]
    kept = sorted(value for _, value in tried)[1]
    as_bad = [(point, kept if value == lowest else value) for point, value in tried]
    assert propose(axes(), failed, 4, 1, 1) == propose(axes(), as_bad, 4, 1, 1)
    nothing = [(point, None) for point, _ in tried]
    assert len(propose(axes(), nothing, 4, 1, 1)) == 4


def test_nothing_imports_optuna_unless_it_is_asked_to_propose():
    code = "import sys, pipelines.commands.sweep, pipelines.searching; sys.exit('optuna' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"trials": 4}, "trials and batch are of a search; say in `search` what it varies"),
        ({"search": AXES}, "trials is missing"),
        ({"search": AXES, "trials": 1}, "trials is 1: it must be greater than 1"),
        ({"search": AXES, "trials": 8, "batch": 1}, "batch is 1: it must be greater than 1"),
        ({"search": AXES, "trials": 8, "cross": {"steps": [4]}}, "search stands alone, without cross"),
        ({"search": {"process": ["star", "markov"]}, "trials": 3}, "trials is 3, and the lists have 2 combinations"),
        ({"search": {"process": []}, "trials": 3}, "process has no values"),
        (
            {"search": {"gamma": {"range": [1, 0]}}, "trials": 3},
            "it runs from 1 to 0; the first must be below the last",
        ),
        ({"search": {"gamma": {"log": [0, 1]}}, "trials": 3}, "log needs numbers above 0 and runs from 0 to 1"),
        ({"search": {"gamma": {}}, "trials": 3}, "give either range or log"),
        ({"search": {"gamma": {"range": [0, 1], "count": 3}}, "trials": 3}, "unknown setting"),
    ],
)
def test_bad_searches_are_refused_in_a_sentence(values, message):
    with pytest.raises(InputError, match=re.escape(message)):
        validate(Grid, values, where="grid")
