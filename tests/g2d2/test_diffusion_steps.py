"""Levels and transitions between any two of them, against Bayes' rule and against what longer steps must add up to."""

import math
from itertools import pairwise

import pytest
import torch

from g2d2.diffusion_steps import CLEAN, nearest_levels, noise_over_signal, transitions, visited_levels
from g2d2.priors.base import Denoised
from tests.g2d2.methods.gaussian_prior import linear_schedule

ALPHA_BAR = linear_schedule(1000)


@pytest.mark.parametrize("spacing", ["even", "quadratic"])
@pytest.mark.parametrize(("train_steps", "steps"), [(1000, 1000), (1000, 20), (1000, 999), (100, 7), (5, 3), (2, 2)])
def test_levels_are_distinct_and_reach_both_ends(train_steps, steps, spacing):
    levels = visited_levels(train_steps, steps, spacing)
    assert len(levels) == steps
    assert (levels[0], levels[-1]) == (train_steps - 1, 0)
    assert all(t > s for t, s in pairwise(levels))


def test_even_levels_are_even_and_quadratic_ones_crowd_where_there_is_little_noise():
    even = visited_levels(1000, 20)
    assert {t - s for t, s in pairwise(even)} <= {52, 53}
    gaps = [t - s for t, s in pairwise(visited_levels(1000, 100, "quadratic"))]
    assert gaps[0] > 15 * gaps[-1]
    assert visited_levels(1000, 1) == [999]


def test_a_path_ends_clean_or_where_it_is_told_to():
    steps = transitions(ALPHA_BAR, [999, 500, 0])
    assert [(step.t, step.s) for step in steps] == [(999, 500), (500, 0), (0, CLEAN)]
    assert steps[-1].alpha_bar_next == 1
    assert [(step.t, step.s) for step in transitions(ALPHA_BAR, [999, 500], end=3)] == [(999, 500), (500, 3)]


@pytest.mark.parametrize(("t", "s"), [(999, 0), (500, 480), (1, 0), (700, 699)])
def test_the_ancestral_step_is_bayes_rule(t, s):
    """x_s given x_t and x_0, from the joint Gaussian of (x_s, x_t) given x_0."""
    (step,) = transitions(ALPHA_BAR, [t], end=s)
    ab_t, ab_s = (float(ALPHA_BAR[level]) for level in (t, s))
    x0, x_t = 0.7, -1.3
    forward = math.sqrt(ab_t / ab_s)
    covariance = forward * (1 - ab_s)  # of x_s and x_t
    mean = math.sqrt(ab_s) * x0 + covariance / (1 - ab_t) * (x_t - math.sqrt(ab_t) * x0)
    variance = (1 - ab_s) - covariance**2 / (1 - ab_t)
    guess = Denoised(*torch.tensor([[x0], [0.0]], dtype=torch.float64))
    draws = [step.ancestral(torch.tensor([x_t], dtype=torch.float64), guess, torch.tensor([z])) for z in (0.0, 1.0)]
    torch.testing.assert_close(draws[0], torch.tensor([mean], dtype=torch.float64), rtol=1e-9, atol=1e-12)
    assert float(draws[1] - draws[0]) ** 2 == pytest.approx(variance, rel=1e-6)


def test_ddim_with_all_noise_new_is_the_ancestral_step():
    x_t, x0, noise = torch.randn(3, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    for step in transitions(ALPHA_BAR, visited_levels(1000, 30)):
        guess = Denoised(x0, step.noise_in(x_t, x0))
        ancestral = step.ancestral(x_t, guess, noise, "posterior")
        torch.testing.assert_close(step.ddim(x0, guess.eps, noise, 1.0), ancestral)
        torch.testing.assert_close(step.ddim(x0, guess.eps, noise, 0.0), step.ddim(x0, guess.eps))
    torch.testing.assert_close(ancestral, x0)  # the last step of all


def test_two_steps_keep_the_marginal_that_one_long_step_keeps():
    """x_s drawn from x_t and the true x_0 has mean sqrt(ab_s) x_0 and variance 1 - ab_s, in one step or in two."""
    for path in ([900, 100], [900, 400, 100]):
        mean, variance = math.sqrt(float(ALPHA_BAR[900])) * 0.5, 1 - float(ALPHA_BAR[900])
        for step in transitions(ALPHA_BAR, path[:-1], end=path[-1]):
            guess = Denoised(torch.tensor(0.5, dtype=torch.float64), torch.tensor(0.0))
            at = [
                step.ancestral(torch.tensor(x, dtype=torch.float64), guess, torch.tensor(0.0)) for x in (mean, mean + 1)
            ]
            mean, slope = float(at[0]), float(at[1] - at[0])
            variance = slope**2 * variance + step.posterior_variance
        assert mean == pytest.approx(math.sqrt(float(ALPHA_BAR[100])) * 0.5)
        assert variance == pytest.approx(1 - float(ALPHA_BAR[100]))


def test_a_learned_variance_carries_over_as_a_share_between_its_bounds():
    """Guided diffusion's rule for fewer steps: the network's share between the two log-variances of a longer step."""
    share = 0.3
    (short,), (long_,) = (transitions(ALPHA_BAR, [600], end=s) for s in (599, 500))
    low, high = math.log(short.posterior_variance), math.log(short.beta)
    learned = torch.tensor(low + share * (high - low), dtype=torch.float64)
    assert float(short.deviation(learned, "learned")) ** 2 == pytest.approx(math.exp(float(learned)))
    low, high = math.log(long_.posterior_variance), math.log(long_.beta)
    expected = math.exp(low + share * (high - low))
    assert float(long_.deviation(learned, "learned")) ** 2 == pytest.approx(expected)
    assert long_.deviation(learned, "posterior") ** 2 == pytest.approx(long_.posterior_variance)
    assert long_.deviation(learned, "beta") ** 2 == pytest.approx(long_.beta)
    assert long_.deviation(None, "learned") == long_.deviation(None, "posterior")


def test_nearest_levels_are_named_once():
    sigmas = [noise_over_signal(float(value)) for value in ALPHA_BAR]
    assert nearest_levels(ALPHA_BAR, [sigmas[700], sigmas[700] * 1.0001, sigmas[3]]) == [700, 3]
    assert nearest_levels(ALPHA_BAR, [1e6, 1e-6]) == [999, 0]
