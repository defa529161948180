"""The paper's statements, checked by enumerating every state of a tiny model."""

import itertools

import pytest
import torch

from g2d2.objective import kl_divergence
from g2d2.schedule import vq_diffusion_schedule
from g2d2.transitions import log_star_marginal

K, D, T = 3, 2, 3
SCHEDULE = vq_diffusion_schedule(
    {
        "num_vec_classes": K + 1,
        "num_train_timesteps": T,
        "alpha_cum_start": 0.8,
        "gamma_cum_start": 0.1,
        "alpha_cum_end": 0.05,
        "gamma_cum_end": 0.85,
    }
)
CLEAN = torch.tensor(list(itertools.product(range(K), repeat=D)))  # (K^D, D)
NOISY = torch.tensor(list(itertools.product(range(K + 1), repeat=D)))  # ((K+1)^D, D)


def joint(per_token, states):
    """Probability of every joint state from token-wise distributions (N, classes, D). (N, len(states))"""
    chosen = torch.stack([per_token[:, states[:, d], d] for d in range(D)])
    return chosen.prod(0)


def noise_to(t):
    """q(z_t | z_0) over joint states, by the code under test. (K^D, (K+1)^D)"""
    log_clean = torch.full((len(CLEAN), K, D), -700.0, dtype=torch.float64)
    log_clean.scatter_(1, CLEAN.unsqueeze(1), 0.0)
    return joint(log_star_marginal(log_clean, SCHEDULE, t).exp(), NOISY)


def model(seed, factorised=False):
    """A random q(z_0) and likelihood q(y | z_0) over joint clean states."""
    generator = torch.Generator().manual_seed(seed)
    if factorised:
        tokens = torch.randn(1, K, D, dtype=torch.float64, generator=generator).softmax(1)
        prior = joint(tokens, CLEAN)[0]
    else:
        prior = torch.randn(len(CLEAN), dtype=torch.float64, generator=generator).softmax(0)
    likelihood = torch.rand(len(CLEAN), dtype=torch.float64, generator=generator) + 0.05
    return prior, likelihood


def clean_given_noisy(weights, t):
    """q(z_0 | z_t) for clean weights (prior, or prior x likelihood). ((K+1)^D, K^D)"""
    together = noise_to(t) * weights.unsqueeze(1)
    return (together / together.sum(0)).T


def kl(p, q):
    return torch.where(p > 0, p * (p / q).log(), 0.0).sum(-1)


def reverse_chain(step_clean):
    """Marginals p(z_T), ..., p(z_0) of a chain z_t -> z_0 -> z_{t-1}; step_clean(t) is (N, K^D)."""
    posterior = step_clean["start"]
    marginal = posterior @ noise_to(T)
    chain = {T: marginal}
    for t in range(T, 0, -1):
        marginal = marginal @ step_clean[t] @ noise_to(t - 1)
        chain[t - 1] = marginal
    return chain


@pytest.mark.parametrize("seed", range(5))
def test_star_decomposed_posterior_has_the_marginal_of_the_star_posterior(seed):
    """Property 2."""
    prior, likelihood = model(seed)
    posterior = prior * likelihood / (prior * likelihood).sum()
    steps = {t: clean_given_noisy(prior * likelihood, t) for t in range(1, T + 1)}
    chain = reverse_chain({"start": posterior, **steps})
    is_clean = (NOISY < K).all(1)
    torch.testing.assert_close(chain[0][is_clean], posterior)
    assert chain[0][~is_clean].sum() == 0


@pytest.mark.parametrize("seed", range(20))
def test_marginal_divergence_is_bounded_by_the_sum_over_steps(seed):
    """Theorem 1, for a random variational distribution at every step and noisy state."""
    prior, likelihood = model(seed)
    posterior = prior * likelihood / (prior * likelihood).sum()
    generator = torch.Generator().manual_seed(100 + seed)
    target, variational = {}, {}
    for t in range(1, T + 1):
        target[t] = clean_given_noisy(prior * likelihood, t)
        tokens = torch.randn(len(NOISY), K, D, dtype=torch.float64, generator=generator).softmax(1)
        variational[t] = joint(tokens, CLEAN)
    chain = reverse_chain({"start": posterior, **variational})
    bound = sum((chain[t] * kl(variational[t], target[t])).sum() for t in range(1, T + 1))
    is_clean = (NOISY < K).all(1)
    assert kl(chain[0][is_clean], posterior) <= bound + 1e-12


def test_the_bound_is_tight_for_the_true_conditionals():
    prior, likelihood = model(0)
    target = clean_given_noisy(prior * likelihood, 2)
    assert kl(target, target).abs().max() < 1e-12


@pytest.mark.parametrize("t", range(1, T + 1))
def test_divergence_splits_into_prior_term_and_likelihood(t):
    """Lemma 1, with the constant log q(y | z_t) that the paper leaves out, and our own KL for the first term."""
    prior, likelihood = model(3, factorised=True)
    given_z = clean_given_noisy(prior, t)
    given_both = clean_given_noisy(prior * likelihood, t)
    generator = torch.Generator().manual_seed(t)
    log_alpha = torch.randn(len(NOISY), K, D, dtype=torch.float64, generator=generator).log_softmax(1)
    alpha = joint(log_alpha.exp(), CLEAN)
    token_prior = torch.stack(
        [torch.stack([given_z[:, CLEAN[:, d] == k].sum(1) for k in range(K)], dim=1) for d in range(D)], dim=2
    )
    evidence = (given_z * likelihood).sum(1).log()
    split = kl_divergence(log_alpha, token_prior.log()) - alpha @ likelihood.log() + evidence
    torch.testing.assert_close(kl(alpha, given_both), split)
