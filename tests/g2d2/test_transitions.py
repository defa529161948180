"""Closed forms against enumeration with explicit matrices, and against diffusers."""

import itertools

import pytest
import torch
from diffusers import VQDiffusionScheduler

from g2d2.schedule import cosine_mask_schedule, vq_diffusion_schedule
from g2d2.transitions import log_markov_marginal, log_star_marginal

K, D, T = 4, 3, 4
SCHEDULES = {
    "vq": vq_diffusion_schedule(
        {
            "num_vec_classes": K + 1,
            "num_train_timesteps": T,
            "alpha_cum_start": 0.9,
            "gamma_cum_start": 0.05,
            "alpha_cum_end": 0.05,
            "gamma_cum_end": 0.85,
        }
    ),
    "cosine": cosine_mask_schedule(T, K),
}
PAIRS = [(s, t) for t in range(1, T + 1) for s in range(t)]


def matrix(schedule, s, t):
    alpha, beta, gamma = schedule.between(s, t)
    q = torch.full((K + 1, K + 1), beta, dtype=torch.float64) + alpha * torch.eye(K + 1, dtype=torch.float64)
    q[-1, :], q[:, -1] = gamma, 0.0
    q[-1, -1] = 1.0
    return q


def random_alpha(rows, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(rows, K, D, dtype=torch.float64, generator=generator).mul(2).log_softmax(1)


def enumerated_posterior(schedule, alpha, i, s, t):
    """sum_k alpha_k Q_{t|s}(i|j) Q_s(j|k) / Q_t(i|k), term by term. (K + 1,)"""
    step, at_s, at_t = matrix(schedule, s, t), matrix(schedule, 0, s), matrix(schedule, 0, t)
    return torch.stack([sum(alpha[k] * step[i, j] * at_s[j, k] / at_t[i, k] for k in range(K)) for j in range(K + 1)])


@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.parametrize("s", range(T + 1))
def test_star_marginal_is_the_matrix_product(name, s):
    log_alpha = random_alpha(2)
    expected = matrix(SCHEDULES[name], 0, s)[:, :K] @ log_alpha.exp()
    torch.testing.assert_close(log_star_marginal(log_alpha, SCHEDULES[name], s).exp(), expected)


@pytest.mark.parametrize(("s", "t"), PAIRS)
def test_markov_marginal_is_bayes_rule_summed_over_all_clean_states(s, t):
    states = torch.tensor(list(itertools.product(range(K + 1), repeat=D)))  # every z_t
    log_alpha = random_alpha(len(states))
    got = log_markov_marginal(log_alpha, states, SCHEDULES["vq"], s, t).exp()
    torch.testing.assert_close(got.sum(1), torch.ones(len(states), D, dtype=torch.float64))
    for row, z_t in enumerate(states):
        for d in range(D):
            expected = enumerated_posterior(SCHEDULES["vq"], log_alpha[row, :, d].exp(), int(z_t[d]), s, t)
            torch.testing.assert_close(got[row, :, d], expected)


@pytest.mark.parametrize(("s", "t"), PAIRS)
def test_markov_posterior_composes_over_a_step_between(s, t):
    """q(z_s | z_t, z_0) = sum_u q(z_s | z_u, z_0) q(z_u | z_t, z_0) for every clean code."""
    schedule = SCHEDULES["vq"]
    eye = torch.full((K, K), -torch.inf, dtype=torch.float64).fill_diagonal_(0.0).clamp(min=-700)
    clean = eye.unsqueeze(-1)  # row k knows z_0 = k
    for u in range(s + 1, t):
        for z_t in range(K + 1):
            tokens = torch.full((K, 1), z_t)
            direct = log_markov_marginal(clean, tokens, schedule, s, t).exp()
            middle = log_markov_marginal(clean, tokens, schedule, u, t).exp()
            composed = sum(
                middle[:, j : j + 1] * log_markov_marginal(clean, torch.full((K, 1), j), schedule, s, u).exp()
                for j in range(K + 1)
            )
            torch.testing.assert_close(direct, composed)


def test_single_steps_equal_diffusers():
    scheduler = VQDiffusionScheduler(num_vec_classes=K + 1, num_train_timesteps=10)
    schedule = vq_diffusion_schedule(scheduler.config)
    states = torch.tensor(list(itertools.product(range(K + 1), repeat=D)))
    log_alpha = random_alpha(len(states)).float()
    for t in range(2, 11):
        expected = scheduler.q_posterior(log_alpha, states, torch.tensor(t - 1)).exp()
        got = log_markov_marginal(log_alpha, states, schedule, t - 1, t).exp()
        torch.testing.assert_close(got, expected, rtol=2e-3, atol=1e-5)


def test_the_last_step_returns_alpha_for_both_processes():
    log_alpha = random_alpha(2)
    masked = torch.full((2, D), K)
    for got in (
        log_star_marginal(log_alpha, SCHEDULES["vq"], 0),
        log_markov_marginal(log_alpha, masked, SCHEDULES["vq"], 0, 2),
    ):
        torch.testing.assert_close(got[:, :K].exp(), log_alpha.exp())
        assert (got[:, K] == -torch.inf).all()


@pytest.mark.parametrize("name", SCHEDULES)
def test_markov_never_masks_again_and_star_does_with_gamma_bar(name):
    schedule = SCHEDULES[name]
    unmasked = torch.zeros(2, D, dtype=torch.long)
    for s, t in PAIRS:
        assert (log_markov_marginal(random_alpha(2), unmasked, schedule, s, t)[:, K].exp() == 0).all()
        star = log_star_marginal(random_alpha(2), schedule, s)[:, K].exp()
        torch.testing.assert_close(star, torch.full_like(star, schedule.between(0, s).gamma))


def test_without_moves_between_codes_an_unmasked_token_stays():
    got = log_markov_marginal(random_alpha(1), torch.tensor([[0, 1, 2]]), SCHEDULES["cosine"], 1, 3).exp()
    assert got[0, [0, 1, 2], [0, 1, 2]].tolist() == [1.0, 1.0, 1.0]
    assert got.isfinite().all()
