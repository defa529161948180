"""What a row of a batch cost: its own calls are counted, and it pays for no neighbour's."""

import pytest
import torch

from g2d2.priors import random_prior
from g2d2.settings import solver_settings
from g2d2.solver import solve
from operators import build_operator

SHORT = {"steps": 5, "iterations": 7}


@pytest.fixture(scope="module")
def trace():
    """Two rows of one pass per step and one of two, in one batch."""
    prior = random_prior()
    operator = build_operator("super_resolution", {"factor": 2}, image_shape=prior.image_shape)
    rows = [solver_settings(guidance=guidance, **SHORT) for guidance in (1.0, 0.0, 3.0)]
    y = torch.zeros(3, *operator.measurement_shape)
    return solve(prior, operator, y, rows, prompts="a", seeds=[1, 2, 3], prior_samples_at=[2]).trace


def test_calls_are_counted_exactly(trace):
    costs = [trace.row_costs(index) for index in range(3)]
    assert [cost["prior_calls"] for cost in costs] == [5, 5, 10]
    assert [cost["decoder_calls"] for cost in costs] == [5 * 7 + 1 + 1] * 3


def test_seconds_are_shared_by_calls_and_add_up(trace):
    costs = [trace.row_costs(index) for index in range(3)]
    assert sum(cost["seconds"] for cost in costs) == pytest.approx(trace.seconds)
    assert 0 < trace.prior_seconds < trace.seconds
    one, other, two = (cost["prior_seconds"] for cost in costs)
    assert one == other == pytest.approx(two / 2)
    rest = [cost["seconds"] - cost["prior_seconds"] for cost in costs]
    assert rest == pytest.approx([rest[0]] * 3)


def test_a_stored_row_has_its_share(trace, tmp_path):
    assert trace.row(2)["seconds"] > trace.row(0)["seconds"]
    assert trace.row(2)["prior_calls"] == 10
