"""From alpha to embeddings: values, and the written-out gradient against autograd."""

import pytest
import torch

from g2d2.relaxation import lookup, nearest_code, relax

CODEBOOK = torch.randn(6, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
LOG_ALPHA = torch.randn(2, 6, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(1)).log_softmax(1)
NOISE = torch.randn(2, 6, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
UPSTREAM = torch.randn(2, 3, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
ONE = torch.tensor(1.0, dtype=torch.float64)
TEMPERATURES = torch.tensor([0.5, 2.0], dtype=torch.float64).view(2, 1, 1)


def test_expectation_is_the_weighted_sum_of_codes():
    expected = torch.einsum("bkd,kc->bcd", LOG_ALPHA.exp(), CODEBOOK)
    torch.testing.assert_close(relax(LOG_ALPHA, None, ONE, CODEBOOK, "expectation").embeddings, expected)


def test_cold_gumbel_samples_become_single_codes():
    cold = relax(LOG_ALPHA, NOISE.clone(), ONE * 1e-4, CODEBOOK, "gumbel").embeddings
    torch.testing.assert_close(cold, lookup((LOG_ALPHA + NOISE).argmax(1), CODEBOOK))


@pytest.mark.parametrize(
    ("kind", "noisy"), [("gumbel", True), ("gumbel-st", True), ("expectation", False), ("quantized-expectation", False)]
)
def test_the_gradient_is_autograds_through_the_soft_embeddings(kind, noisy):
    log_alpha = LOG_ALPHA.clone().requires_grad_()
    logits = (log_alpha + NOISE) / TEMPERATURES if noisy else log_alpha
    soft = torch.einsum("bkd,kc->bcd", logits.softmax(1), CODEBOOK)
    (expected,) = torch.autograd.grad((soft * UPSTREAM).sum(), log_alpha)
    relaxed = relax(LOG_ALPHA, NOISE.clone() if noisy else None, TEMPERATURES, CODEBOOK, kind)
    torch.testing.assert_close(relaxed.gradient(UPSTREAM), expected)
    if kind in ("gumbel-st", "quantized-expectation"):
        hard = relaxed.embeddings
        torch.testing.assert_close(hard, lookup(nearest_code(hard, CODEBOOK), CODEBOOK))
    else:
        torch.testing.assert_close(relaxed.embeddings, soft.detach())


def test_each_row_has_its_own_temperature():
    together = relax(LOG_ALPHA, NOISE.clone(), TEMPERATURES, CODEBOOK, "gumbel").embeddings
    for i in range(2):
        alone = relax(LOG_ALPHA[i : i + 1], NOISE[i : i + 1].clone(), TEMPERATURES[i], CODEBOOK, "gumbel").embeddings
        torch.testing.assert_close(together[i : i + 1], alone)
