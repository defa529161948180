"""The objective and its gradients against finite differences and hand-written formulas."""

import pytest
import torch

from g2d2.methods.g2d2 import G2D2, VariationalStep
from g2d2.methods.recording import Recorder
from g2d2.objective import iteration_counts, kl_divergence, kl_with_gradient, misfit, schedule_weight
from g2d2.priors import random_prior
from g2d2.randomness import RowRandom
from g2d2.relaxation import relax
from operators import build_operator


def logits(seed, *shape):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)).log_softmax(1)


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("relaxation", ["gumbel", "expectation"])
def test_gradient_of_the_whole_objective_is_the_finite_difference(squared, relaxation):
    """The step the solver takes, recovered from its own update, against central differences of its own loss."""
    prior = random_prior(dtype=torch.float64)
    operator = build_operator("super_resolution", {"factor": 2}, x_shape=prior.x_shape)
    shape = (1, prior.schedule.num_codes, prior.num_tokens)
    y = torch.randn(1, *operator.y_shape, dtype=torch.float64, generator=torch.Generator().manual_seed(5))
    log_prior, start = logits(1, *shape), logits(2, *shape)
    eta = 0.01
    noise = RowRandom([3], "cpu", torch.float64).gumbel("relaxation", shape[1:])

    def loss(log_alpha):
        drawn = noise.clone() if relaxation == "gumbel" else None
        relaxed = relax(log_alpha, drawn, torch.tensor(0.8, dtype=torch.float64), prior.codebook, relaxation)
        value = misfit(operator, prior.decode(relaxed.embeddings), y, squared)
        return (eta * kl_divergence(log_alpha.log_softmax(1), log_prior) + value).item()

    method = G2D2()
    settings = method.settings(
        eta_kl=eta, lambda_kl=0.0, lambda_lr=0.0, temperature=0.8, learning_rate=1.0, guidance=1.0,
        steps=1, iterations=1, relaxation=relaxation, likelihood="squared" if squared else "norm",
    )  # fmt: skip
    batch = method.batch(prior, operator, y, settings, prompts="a", seeds=[3])
    recorder = Recorder(prior.device)
    step = VariationalStep(prior, batch, prior.condition(["a"], [1.0]))
    moved = step.minimise(start.clone(), log_prior, 0, recorder)
    assert recorder.finish(y).curves["total"].item() == pytest.approx(loss(start), rel=1e-12)
    # RAdam starts with the plain gradient; logits come back normalised, so it is known up to a constant per token.
    descent = (start - moved) - (start - moved).mean(dim=1, keepdim=True)
    generator = torch.Generator().manual_seed(7)
    for _ in range(20):
        k, d = (int(torch.randint(size, (), generator=generator)) for size in shape[1:])
        bump = torch.zeros(shape, dtype=torch.float64)
        bump[0, k, d] = 1e-6
        slope = (loss(start + bump) - loss(start - bump)) / 2e-6
        column = [(loss(start + bump.roll(j, 1)) - loss(start - bump.roll(j, 1))) / 2e-6 for j in range(1, shape[1])]
        centred = slope - (slope + sum(column)) / shape[1]
        assert descent[0, k, d].item() == pytest.approx(centred, rel=1e-4, abs=1e-7)


def test_kl_is_torchs_and_zero_at_the_prior():
    p, q = logits(0, 3, 5, 4), logits(1, 3, 5, 4)
    expected = torch.nn.functional.kl_div(q, p, log_target=True, reduction="none").sum((1, 2))
    torch.testing.assert_close(kl_divergence(p, q), expected)
    torch.testing.assert_close(kl_divergence(p, p), torch.zeros(3, dtype=torch.float64))


def test_kl_gradient_is_autograds_and_raw_logits_gain_alpha():
    p, q = logits(0, 2, 5, 4).requires_grad_(), logits(1, 2, 5, 4)
    value = (p.softmax(1) * (p.log_softmax(1) - q)).sum((1, 2))
    (expected,) = torch.autograd.grad(value.sum(), p)
    exact_value, exact = kl_with_gradient(p.detach(), q)
    raw_value, raw = kl_with_gradient(p.detach(), q, exact=False)
    torch.testing.assert_close(exact_value, value.detach())
    torch.testing.assert_close(raw_value, value.detach())
    torch.testing.assert_close(exact, expected)
    torch.testing.assert_close(raw - exact, p.detach().exp())


def test_one_norm_per_image_keeps_rows_apart():
    operator = build_operator("identity", x_shape=(3, 4, 4))
    x, y = torch.randn(3, 3, 4, 4).requires_grad_(), torch.randn(3, 3, 4, 4)
    value = misfit(operator, x, y)
    torch.testing.assert_close(value.detach(), (x - y).detach().flatten(1).norm(dim=1))
    torch.testing.assert_close(misfit(operator, x, y, squared=True), value.square())
    (together,) = torch.autograd.grad(value.sum(), x)
    for i in range(3):
        row = x[i : i + 1].detach().requires_grad_()
        (alone,) = torch.autograd.grad(misfit(operator, row, y[i : i + 1]).sum(), row)
        torch.testing.assert_close(together[i : i + 1], alone)


def test_schedule_weights_of_paper_and_reference():
    decades = torch.tensor([2.0, 0.0, 1.0], dtype=torch.float64)
    assert schedule_weight(decades, 0, 100).tolist() == pytest.approx([10.0, 1.0, 10**0.5])
    assert schedule_weight(decades, 99, 100)[0].item() == pytest.approx(0.1047, abs=1e-4)
    assert schedule_weight(decades, 99, 100, endpoints=True)[0].item() == pytest.approx(0.1)
    assert schedule_weight(decades, 0, 100, endpoints=True)[0].item() == pytest.approx(10.0)


@pytest.mark.parametrize(("steps", "iterations"), [(20, 10), (7, 3), (1, 5), (9, 1)])
def test_iterations_fall_by_decades_and_their_sum_stays(steps, iterations):
    assert iteration_counts(steps, iterations, 0.0) == [iterations] * steps
    falling, rising = (iteration_counts(steps, iterations, decades) for decades in (1.0, -1.0))
    assert sum(falling) == sum(rising) == steps * iterations
    assert min(falling) >= 1
    assert iteration_counts(20, 101, 1.0)[0] / iteration_counts(20, 101, 1.0)[-1] == pytest.approx(10**0.95, rel=0.1)
    assert (falling[0] > falling[-1]) == (rising[0] < rising[-1]) == (steps > 1 and iterations > 1)


def test_tokens_that_do_not_count_add_nothing_to_the_divergence():
    p, q = logits(0, 2, 5, 4), logits(1, 2, 5, 4)
    active = torch.tensor([[True, True, False, True], [False, False, True, True]])
    value, gradient = kl_with_gradient(p, q, active=active)
    whole, whole_gradient = kl_with_gradient(p, q)
    per_token = (p.exp() * (p - q)).sum(1)
    torch.testing.assert_close(value, (per_token * active).sum(1))
    torch.testing.assert_close(gradient, whole_gradient * active.unsqueeze(1))
    assert not torch.allclose(value, whole)
