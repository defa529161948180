"""What a row of a batch cost: its own calls are counted, and it pays for no neighbour's."""

import pytest
import torch

from g2d2.methods.g2d2 import G2D2
from g2d2.methods.recording import Solution
from g2d2.priors import random_prior
from operators import build_operator

SHORT = {"steps": 5, "iterations": 7}


@pytest.fixture(scope="module")
def solution():
    """Two rows of one pass per step and one of two, in one batch."""
    prior = random_prior()
    operator = build_operator("super_resolution", {"factor": 2}, x_shape=prior.x_shape)
    method = G2D2()
    rows = [method.settings(guidance=guidance, **SHORT) for guidance in (1.0, 0.0, 3.0)]
    y = torch.zeros(3, *operator.y_shape)
    return method.run(prior, operator, y, rows, prompts="a", seeds=[1, 2, 3], snapshots_at=[2])


def test_calls_are_counted_exactly(solution):
    costs = [solution.costs(index) for index in range(3)]
    assert [cost["prior_calls"] for cost in costs] == [5, 5, 10]
    assert [cost["decoder_calls"] for cost in costs] == [5 * 7 + 1 + 1] * 3


def test_seconds_are_shared_by_calls_and_add_up(solution):
    costs = [solution.costs(index) for index in range(3)]
    assert sum(cost["seconds"] for cost in costs) == pytest.approx(solution.seconds)
    assert 0 < solution.prior_seconds < solution.seconds
    one, other, two = (cost["prior_seconds"] for cost in costs)
    assert one == other == pytest.approx(two / 2)
    rest = [cost["seconds"] - cost["prior_seconds"] for cost in costs]
    assert rest == pytest.approx([rest[0]] * 3)


def test_a_stored_row_has_its_share(solution):
    assert solution.record(2)["seconds"] > solution.record(0)["seconds"]
    assert solution.record(2)["prior_calls"] == 10


@pytest.mark.parametrize(("steps", "iterations"), [(5, 7), (100, 30), (22, 3), (1, 1)])
def test_a_row_that_diverged_names_the_level_of_its_first_bad_loss(steps, iterations):
    levels = list(range(2 * steps, 0, -2))
    for step in range(steps):
        curve = torch.zeros(2, steps * iterations)
        curve[1, step * iterations :] = torch.nan
        tokens = torch.zeros(2, steps, dtype=torch.int64)
        solution = Solution(torch.zeros(2, 1), curves={"masked": tokens, "total": curve}, levels=levels, advice="try.")
        assert solution.fault(0) is None
        expected = f"its losses became NaN or infinite at noise level t = {levels[step]}; try."
        assert solution.fault(1) == expected


def test_a_level_is_found_where_steps_have_other_iterations_and_the_samples_are_several():
    """Two samples of steps 10 and 5, of 3 and 1 iterations, in a batch of which another row has 4 and 2."""
    iterations = torch.tensor([[3, 1, 3, 1], [4, 2, 4, 2]])
    for place, level in ((0, 10), (3, 10), (4, 5), (5, 5), (6, 10), (10, 5)):
        curve = torch.zeros(2, 12)
        curve[1, place:] = torch.nan
        solution = Solution(torch.zeros(2, 1), curves={"total": curve}, levels=[10, 5] * 2, iterations=iterations)
        assert solution.fault(0) is None
        assert f"t = {level}" in solution.fault(1)


def test_a_row_keeps_the_points_of_its_own_iterations():
    """Else what is stored of it would depend on the others of its batch."""
    iterations = torch.tensor([[1, 3], [2, 2]])
    curves = {"total": torch.arange(10.0).view(2, 5), "masked": torch.zeros(2, 2)}
    solution = Solution(torch.zeros(2, 1), curves=curves, levels=[10, 5], iterations=iterations)
    first, second = solution.record(0), solution.record(1)
    assert first["total"].tolist() == [0, 2, 3, 4]
    assert first["iterations"].tolist() == [1, 3]
    assert second["total"].tolist() == [5, 6, 7, 8]
    assert "iterations" not in second  # as many in every step
    assert len(first["masked"]) == len(second["masked"]) == 2


def test_seconds_are_shared_by_calls_of_the_decoder_where_rows_differ():
    solution = Solution(torch.zeros(2, 1), seconds=8.0, decoder_calls=torch.tensor([1, 3]))
    assert [solution.costs(row)["seconds"] for row in range(2)] == [2.0, 6.0]
    assert solution.costs(1)["decoder_calls"] == 3
    assert solution.first(1).costs(0)["seconds"] == 8.0


def test_a_reconstruction_that_is_not_finite_is_no_result():
    solution = Solution(torch.tensor([[0.0], [torch.inf]]))
    assert solution.fault(0) is None
    assert solution.fault(1) == "its reconstruction holds NaN or infinite values"


def test_rows_that_filled_up_a_batch_leave_its_costs_to_the_others():
    solution = Solution(
        x=torch.arange(4.0)[:, None], seconds=8.0, prior_seconds=4.0, prior_calls=torch.tensor([2, 2, 2, 2]),
        curves={"total": torch.zeros(4, 3)}, latent=torch.zeros(4, 2),
    )  # fmt: skip
    first = solution.first(2)
    assert first.x.flatten().tolist() == [0.0, 1.0]
    assert first.curves["total"].shape == (2, 3)
    assert sum(first.costs(row)["seconds"] for row in range(2)) == 8.0
