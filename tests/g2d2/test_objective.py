"""The objective and its gradients against finite differences and hand-written formulas."""

import pytest
import torch
from torch.autograd import gradcheck

from g2d2.objective import kl_divergence, misfit, schedule_weight
from g2d2.priors import random_prior
from g2d2.randomness import RowRandom
from g2d2.relaxation import relax
from operators import build_operator


def logits(seed, *shape):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)).log_softmax(1)


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("noisy", [False, True])
def test_gradient_of_the_whole_objective_is_the_finite_difference(squared, noisy):
    prior = random_prior(dtype=torch.float64)
    operator = build_operator("super_resolution", {"factor": 2}, image_shape=prior.image_shape)
    shape = (1, prior.schedule.num_codes, prior.num_tokens)
    y = torch.randn(1, *operator.measurement_shape, dtype=torch.float64, generator=torch.Generator().manual_seed(5))
    noise = RowRandom([3], "cpu", torch.float64).gumbel("relaxation", shape[1:]) if noisy else None
    log_prior = logits(1, *shape)

    def objective(log_alpha):
        embeddings = relax(log_alpha, noise, torch.tensor(0.8), prior.codebook, "gumbel" if noisy else "expectation")
        return 0.01 * kl_divergence(log_alpha, log_prior) + misfit(operator(prior.decode(embeddings)), y, squared)

    assert gradcheck(objective, logits(2, *shape).requires_grad_(), fast_mode=True)


def test_kl_is_torchs_and_zero_at_the_prior():
    p, q = logits(0, 3, 5, 4), logits(1, 3, 5, 4)
    expected = torch.nn.functional.kl_div(q, p, log_target=True, reduction="none").sum((1, 2))
    torch.testing.assert_close(kl_divergence(p, q), expected)
    torch.testing.assert_close(kl_divergence(p, p), torch.zeros(3, dtype=torch.float64))


def test_raw_logits_gain_alpha_in_the_gradient_and_nothing_in_the_value():
    p, q = logits(0, 2, 5, 4).requires_grad_(), logits(1, 2, 5, 4)
    exact, raw = kl_divergence(p, q), kl_divergence(p, q, exact_gradient=False)
    torch.testing.assert_close(exact, raw)
    (g_exact,) = torch.autograd.grad(exact.sum(), p)
    (g_raw,) = torch.autograd.grad(raw.sum(), p)
    torch.testing.assert_close(g_raw - g_exact, p.detach().exp())


def test_one_norm_per_image_keeps_rows_apart():
    measured, y = torch.randn(3, 3, 4, 4).requires_grad_(), torch.randn(3, 3, 4, 4)
    (together,) = torch.autograd.grad(misfit(measured, y).sum(), measured)
    for i in range(3):
        row = measured[i : i + 1].detach().requires_grad_()
        (alone,) = torch.autograd.grad(misfit(row, y[i : i + 1]).sum(), row)
        torch.testing.assert_close(together[i : i + 1], alone)


def test_schedule_weights_of_paper_and_reference():
    decades = torch.tensor([2.0, 0.0, 1.0], dtype=torch.float64)
    assert schedule_weight(decades, 0, 100).tolist() == pytest.approx([10.0, 1.0, 10**0.5])
    assert schedule_weight(decades, 99, 100)[0].item() == pytest.approx(0.1047, abs=1e-4)
    assert schedule_weight(decades, 99, 100, endpoints=True)[0].item() == pytest.approx(0.1)
    assert schedule_weight(decades, 0, 100, endpoints=True)[0].item() == pytest.approx(10.0)
