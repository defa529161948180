"""From alpha to embeddings: values and straight-through gradients."""

import pytest
import torch

from g2d2.relaxation import lookup, nearest_code, relax

CODEBOOK = torch.randn(6, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
LOG_ALPHA = torch.randn(2, 6, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(1)).log_softmax(1)
NOISE = torch.randn(2, 6, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
ONE = torch.tensor(1.0, dtype=torch.float64)


def test_expectation_is_the_weighted_sum_of_codes():
    expected = torch.einsum("bkd,kc->bcd", LOG_ALPHA.exp(), CODEBOOK)
    torch.testing.assert_close(relax(LOG_ALPHA, None, ONE, CODEBOOK, "expectation"), expected)


def test_cold_gumbel_samples_become_single_codes():
    cold = relax(LOG_ALPHA, NOISE, ONE * 1e-4, CODEBOOK, "gumbel")
    torch.testing.assert_close(cold, lookup((LOG_ALPHA + NOISE).argmax(1), CODEBOOK))


@pytest.mark.parametrize(
    ("kind", "noise", "soft_kind"),
    [
        ("gumbel-st", NOISE, "gumbel"),
        ("quantized-expectation", None, "expectation"),
    ],
)
def test_straight_through_is_hard_forwards_and_soft_backwards(kind, noise, soft_kind):
    log_alpha = LOG_ALPHA.clone().requires_grad_()
    hard, soft = relax(log_alpha, noise, ONE, CODEBOOK, kind), relax(log_alpha, noise, ONE, CODEBOOK, soft_kind)
    torch.testing.assert_close(hard, lookup(nearest_code(hard, CODEBOOK), CODEBOOK))
    weights = torch.randn(hard.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    (g_hard,) = torch.autograd.grad((hard * weights).sum(), log_alpha)
    (g_soft,) = torch.autograd.grad((soft * weights).sum(), log_alpha)
    torch.testing.assert_close(g_hard, g_soft)


def test_each_row_has_its_own_temperature():
    temperature = torch.tensor([0.5, 2.0], dtype=torch.float64).view(2, 1, 1)
    together = relax(LOG_ALPHA, NOISE, temperature, CODEBOOK, "gumbel")
    for i in range(2):
        alone = relax(LOG_ALPHA[i : i + 1], NOISE[i : i + 1], temperature[i], CODEBOOK, "gumbel")
        torch.testing.assert_close(together[i : i + 1], alone)
