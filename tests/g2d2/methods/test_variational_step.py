"""Rows have iterations of their own and may rest: they leave the decoder's batches, and nobody's result changes."""

import copy

import pytest
import torch

from g2d2.methods import variational_step
from g2d2.methods.base import Batch
from g2d2.methods.g2d2 import G2D2
from g2d2.methods.moving_rows import Budgets
from g2d2.priors import load_prior
from operators import TASKS, build_operator, measure, stack_operators

METHOD = G2D2()
settings = METHOD.settings
SIZE = 11
SHORT = {"steps": 2, "iterations": 6, "guidance": 1.0, "learning_rate": 20.0}
BUDGETS = [(2, 6, 9)[row % 3] for row in range(SIZE)]
LEVELS = [(0.0, 20.0, 30.0)[row % 3] for row in range(SIZE)]
"""So many times the noise some rows rest at once, some on the way and some never."""


@pytest.fixture(scope="module")
def prior():
    return load_prior("cifar10")


@pytest.fixture(scope="module")
def problem(prior):
    task = TASKS["sr4-32"]
    operator = task.build()
    truth = torch.rand(SIZE, *prior.x_shape, generator=torch.Generator().manual_seed(0)) * 2 - 1
    return operator, measure(operator, truth, sigma=task.sigma, seeds=range(SIZE)), task.sigma


def solve(prior, problem, rows, which=None):
    operator, y, sigma = problem
    which = range(SIZE) if which is None else which
    chosen = [rows[row] for row in which]
    return METHOD.run(prior, operator, y[list(which)], chosen, prompts="a frog", seeds=which, sigma=sigma)


def same_row(one, row, other, other_row):
    """To the last bit: x, and all that is kept of the way but time."""
    assert torch.equal(one.x[row], other.x[other_row])
    mine, its = one.record(row), other.record(other_row)
    for name in ("total", "likelihood", "kl"):
        assert mine[name].tolist() == its[name].tolist(), name
    assert mine["decoder_calls"] == its["decoder_calls"]


class Counting:
    """Rows of each call of the decoder that is differentiated."""

    def __init__(self, prior):
        self.prior, self.sizes = copy.copy(prior), []
        self.prior.decode = self

    def __call__(self, embeddings, active=None):
        if embeddings.requires_grad:
            self.sizes.append(len(embeddings))
        return type(self.prior).decode(self.prior, embeddings, active)


def test_rows_leave_the_decoder_when_their_iterations_are_done(prior, problem):
    rows = [settings(**SHORT | {"iterations": count}) for count in BUDGETS]
    counting = Counting(prior)
    together = solve(counting.prior, problem, rows)
    assert sum(counting.sizes) == 2 * sum(BUDGETS)
    assert max(counting.sizes) == 8
    assert together.decoder_calls.tolist() == [2 * count + 1 for count in BUDGETS]
    assert together.iterations.tolist() == [[count] * 2 for count in BUDGETS]
    for which in ([0], [2, 1], list(range(9))):
        some = solve(prior, problem, rows, which)
        for place, row in enumerate(which):
            same_row(some, place, together, row)
    assert len(together.record(0)["total"]) == 2 * BUDGETS[0]


def test_a_row_with_few_iterations_costs_less(prior, problem):
    costs = solve(prior, problem, [settings(**SHORT | {"iterations": count}) for count in BUDGETS])
    seconds = [costs.costs(row)["seconds"] for row in range(SIZE)]
    assert seconds[0] < seconds[1] < seconds[2]
    assert sum(seconds) == pytest.approx(costs.seconds)


@pytest.mark.parametrize("changes", [{}, {"optimizer_memory": "run"}, {"optimizer_memory": "run", "memory_kept": 0.5}])
def test_rows_that_rest_leave_and_neither_they_nor_others_change(prior, problem, changes):
    rows = [settings(**SHORT, **changes, discrepancy=level) for level in LEVELS]
    counting = Counting(prior)
    together = solve(counting.prior, problem, rows)
    calls = together.decoder_calls.tolist()
    assert sum(counting.sizes) == sum(calls) - SIZE
    whole = 2 * 6 + 1
    assert {calls[row] for row in range(0, SIZE, 3)} == {whole}
    assert min(calls) < whole
    plain = solve(prior, problem, [settings(**SHORT, **changes)] * SIZE)
    for row in range(0, SIZE, 3):
        same_row(together, row, plain, row)
    assert any(not torch.equal(together.x[row], plain.x[row]) for row in range(SIZE))
    for which in ([1], [2, 0], [10, 4, 7]):
        some = solve(prior, problem, rows, which)
        for place, row in enumerate(which):
            same_row(some, place, together, row)


@pytest.mark.parametrize("every", [3, None])
@pytest.mark.parametrize("changes", [{}, {"optimizer_memory": "run", "lambda_iterations": 1.0}])
def test_where_looking_is_dear_rows_idle_till_the_next_look_and_nothing_else_differs(
    prior, problem, monkeypatch, every, changes
):
    rows = [
        settings(**SHORT | {"iterations": count}, **changes, discrepancy=level)
        for count, level in zip(BUDGETS, LEVELS, strict=True)
    ]
    at_once = solve(prior, problem, rows)
    monkeypatch.setattr(variational_step, "_look_every", lambda device: every)
    seldom = solve(prior, problem, rows)
    assert torch.equal(seldom.x, at_once.x)
    for name in ("total", "likelihood", "kl"):
        assert torch.equal(seldom.curves[name], at_once.curves[name])
    assert (seldom.decoder_calls >= at_once.decoder_calls).all()
    assert seldom.decoder_calls.sum() > at_once.decoder_calls.sum()


@pytest.mark.parametrize(("device", "pinned"), [("cuda", True), ("cpu", False)])
def test_which_rows_are_left_is_brought_to_a_gpu_without_waiting(monkeypatch, device, pinned):
    """A copy from memory that is not pinned would wait for all that is queued."""
    made, brought = [], []

    class Places:
        def to(self, place, non_blocking=False):
            brought.append((place.type, non_blocking))

    monkeypatch.setattr(torch, "tensor", lambda values, pin_memory=False: made.append((values, pin_memory)) or Places())
    Budgets([settings(**SHORT)] * 3, torch.device(device)).index((0, 2))
    assert made == [((0, 2), pinned)]
    assert brought == [(device, True)]


def test_compiled_networks_see_batches_of_one_size_and_give_the_same(prior, problem):
    rows = [
        settings(**SHORT | {"iterations": count}, discrepancy=level)
        for count, level in zip(BUDGETS, LEVELS, strict=True)
    ]
    counting = Counting(prior)
    counting.prior.static_shapes = True
    together, left = solve(counting.prior, problem, rows), solve(prior, problem, rows)
    assert set(zip(counting.sizes[::2], counting.sizes[1::2], strict=True)) == {(8, 3)}
    assert torch.equal(together.x, left.x)
    assert torch.equal(together.curves["total"], left.curves["total"])


def test_rows_with_operators_of_their_own_keep_them_when_others_leave(prior):
    masks = [build_operator("random_inpainting", {"keep": 0.5, "seed": row}, x_shape=prior.x_shape) for row in range(3)]
    y = measure(stack_operators(masks), torch.zeros(3, *prior.x_shape), sigma=0.05, seeds=range(3))
    rows = [settings(**SHORT | {"iterations": count}) for count in (2, 3, 6)]
    together = METHOD.run(prior, stack_operators(masks), y, rows, prompts="a frog", seeds=range(3))
    for row in range(3):
        alone = METHOD.run(prior, masks[row], y[row : row + 1], rows[row], prompts="a frog", seeds=[row])
        same_row(alone, 0, together, row)


def test_a_row_rests_at_the_misfit_of_noise_alone():
    """One norm of a picture's noise is sqrt(m) long; of key frames every one adds the mean length of its own noise."""
    image = build_operator("identity", x_shape=(3, 8, 8))
    path = build_operator("path", {"keyframes": 5}, x_shape=(60, 263))
    rows = [settings(discrepancy=1.0), settings(discrepancy=2.0)]
    for operator, noise in ((image, 192**0.5), (path, 5 * 1.59577)):
        y = torch.zeros(2, *operator.y_shape)
        batch = Batch(operator, y, torch.tensor([0.1, 0.05]), rows, ["", ""], [0, 1])
        assert variational_step.resting_residual(batch).tolist() == pytest.approx([0.1 * noise, 0.1 * noise], rel=1e-5)
