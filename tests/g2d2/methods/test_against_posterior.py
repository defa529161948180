"""DDRM, DiffPIR and DAPS against the posterior of a Gaussian prior: where theory says that they agree, and where not.

Write a = sqrt(1 - share), where `share` of the noise's variance is new at every step (eta^2 in DDRM, zeta in
DiffPIR). Near the end of many steps, sigma -> 0, a step is x + (1 - a) sigma^2 score + sigma sqrt(1 - a^2) z: a
Langevin step of length h = (1 - a) sigma^2 whose noise has the variance (1 + a) h where 2 h belongs. So the mean tends
to the posterior's, and the covariance to (1 + a) / 2 of the posterior's. Without new noise (a = 1) nothing forgets the
way, and only special priors agree.
"""

import math

import pytest
import torch

from g2d2.methods import find_method
from operators import build_operator
from tests.g2d2.methods.exact_law import law
from tests.g2d2.methods.gaussian_prior import GaussianPrior, covariance_of, geometric_schedule, posterior

PAIR = (1, 1, 2)
MEAN = torch.tensor([0.2, 0.4], dtype=torch.float64)
COVARIANCE = torch.tensor([[0.5, 0.25], [0.25, 0.6]], dtype=torch.float64)
ONE_SEEN = build_operator("box_inpainting", {"top": 0, "left": 0, "height": 1, "width": 1}, x_shape=PAIR)
BOTH_SEEN = build_operator("identity", {}, x_shape=PAIR)
LEVELS = 400


def problem(operator, covariance=COVARIANCE, sigma_min=0.01, sigma_max=50.0, levels=LEVELS):
    """A prior with many levels and one y."""
    prior = GaussianPrior(PAIR, MEAN, covariance, alpha_bar=geometric_schedule(levels, sigma_min, sigma_max))
    y = operator(torch.tensor([[[[0.5, -0.7]]]], dtype=torch.float64))
    return prior, y


def compare(method, operator, sigma, covariance=COVARIANCE, **settings):
    """Mean and covariance of a method's results, and of the posterior."""
    prior, y = problem(operator, covariance)
    chosen = find_method(method).settings(steps=LEVELS, **settings)
    found = law(find_method(method), prior, operator, y, chosen, sigma)
    return found, posterior(prior, operator.dense(), y.flatten(), sigma)


@pytest.mark.parametrize("eta", [0.0, 0.85, 1.0])
@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("identity", {}),
        ("random_inpainting", {"keep": 0.5}),
        ("super_resolution", {"factor": 2}),
        ("gaussian_blur", {"kernel_size": 3, "std": 0.5}),
    ],
)
def test_ddrm_gives_back_what_a_noiseless_measurement_saw(name, settings, eta):
    """For any prior and any number of steps: A x = y, without variance."""
    shape = (1, 4, 4)
    operator = build_operator(name, settings, x_shape=shape)
    prior = GaussianPrior(shape, covariance=covariance_of(16), train_steps=100)
    truth = torch.linspace(-1, 1, 16, dtype=torch.float64).view(1, *shape)
    y, A = operator(truth), operator.dense()
    mean, covariance = law(find_method("ddrm"), prior, operator, y, find_method("ddrm").settings(steps=4, eta=eta), 0.0)
    torch.testing.assert_close(A @ mean, y.flatten(), rtol=0, atol=1e-9)
    torch.testing.assert_close(
        A @ covariance @ A.T, torch.zeros(len(A), len(A), dtype=torch.float64), rtol=0, atol=1e-9
    )


@pytest.mark.parametrize("eta", [0.0, 0.5, 0.85, 1.0])
def test_ddrm_draws_what_was_not_seen_from_an_independent_prior(eta):
    """The prior's mean at every eta, its variance at eta 0 alone."""
    (mean, covariance), (true_mean, true_covariance) = compare("ddrm", ONE_SEEN, 0.0, COVARIANCE.diag().diag(), eta=eta)
    torch.testing.assert_close(mean, true_mean, rtol=0, atol=5e-3)
    share = (1 + math.sqrt(1 - eta**2)) / 2
    torch.testing.assert_close(covariance, share * true_covariance, rtol=0.025, atol=1e-9)


@pytest.mark.parametrize("eta", [0.85, 1.0])
def test_ddrm_with_new_noise_tends_to_the_conditional_mean_of_what_was_not_seen(eta):
    (mean, covariance), (true_mean, true_covariance) = compare("ddrm", ONE_SEEN, 0.0, eta=eta)
    torch.testing.assert_close(mean, true_mean, rtol=0, atol=0.03)
    torch.testing.assert_close(covariance, (1 + math.sqrt(1 - eta**2)) / 2 * true_covariance, rtol=0.02, atol=1e-9)


def test_ddrm_without_new_noise_does_not():
    """The unseen coordinate follows a seen one that is blurred by the level's own noise."""
    (mean, _), (true_mean, _) = compare("ddrm", ONE_SEEN, 0.0, eta=0.0)
    assert abs(mean[0] - true_mean[0]) > 0.2


def test_ddrm_of_a_noisy_measurement_is_not_the_posterior():
    """It moves from the guess to y by sigma_t / sigma_y and not its square: in the end towards y, without variance."""
    (mean, covariance), (true_mean, true_covariance) = compare("ddrm", BOTH_SEEN, 0.3, eta=0.85)
    y = torch.tensor([0.5, -0.7], dtype=torch.float64)
    assert ((mean - y).abs() < 0.6 * (true_mean - y).abs()).all()
    assert (covariance.diag() < 0.3 * true_covariance.diag()).all()


@pytest.mark.parametrize("sigma", [0.1, 0.3])
@pytest.mark.parametrize("operator", [ONE_SEEN, BOTH_SEEN], ids=["one seen", "both seen"])
@pytest.mark.parametrize("noise_share", [0.5, 1.0])
def test_diffpir_with_new_noise_tends_to_the_posterior_mean_and_a_known_share_of_its_covariance(
    noise_share, operator, sigma
):
    (mean, covariance), (true_mean, true_covariance) = compare(
        "diffpir", operator, sigma, noise_share=noise_share, clip="none", spacing="even"
    )
    torch.testing.assert_close(mean, true_mean, rtol=0, atol=0.045)
    share = (1 + math.sqrt(1 - noise_share)) / 2
    torch.testing.assert_close(covariance, share * true_covariance, rtol=0.05, atol=1e-3)


def test_diffpir_without_new_noise_is_the_posterior_of_a_flat_prior():
    """There x given x_t has the variance sigma_t^2 that lambda = 1 assumes, at every level."""
    prior, y = problem(BOTH_SEEN, 1e4 * torch.eye(2, dtype=torch.float64), sigma_max=5000.0)
    settings = find_method("diffpir").settings(steps=LEVELS, noise_share=0.0, clip="none", spacing="even")
    mean, covariance = law(find_method("diffpir"), prior, BOTH_SEEN, y, settings, 0.3)
    true_mean, true_covariance = posterior(prior, BOTH_SEEN.dense(), y.flatten(), 0.3)
    torch.testing.assert_close(mean, true_mean, rtol=0, atol=1e-3)
    torch.testing.assert_close(covariance, true_covariance, rtol=0.02, atol=1e-6)


def test_diffpir_without_new_noise_trusts_y_too_much_for_a_narrow_prior():
    """At high noise it takes the guess to be as uncertain as its level, where the prior knows better."""
    (mean, _), (true_mean, _) = compare("diffpir", BOTH_SEEN, 0.5, noise_share=0.0, clip="none", spacing="even")
    y = torch.tensor([0.5, -0.7], dtype=torch.float64)
    assert ((mean - y).abs() < 0.8 * (true_mean - y).abs()).all()


def test_diffpir_fits_a_noiseless_measurement_up_to_its_last_step():
    """The last step has no data step: what it denoises holds the noise of the lowest level."""
    (mean, covariance), (true_mean, _) = compare(
        "diffpir", ONE_SEEN, 0.0, noise_share=0.25, clip="none", spacing="even"
    )
    assert abs(mean[1] - true_mean[1]) < 1e-3
    assert covariance[1, 1] < 1.1 * 0.01**2


def daps_law(ode_steps, covariance=COVARIANCE, **changes):
    """DAPS in the regime of small levels, its Langevin steps (with momentum) run until they have converged.

    tau is sqrt(2) times the noise's sigma: the likelihood exp(-||y - A x||^2 / tau^2) has no 1/2.
    """
    prior, y = problem(BOTH_SEEN, covariance, sigma_min=5e-4, levels=2000)
    settings = {
        "steps": 40,
        "sigma_max": 0.2,
        "sigma_min": 0.05,
        "ode_steps": ode_steps,
        "ode_sigma_min": 5e-4,
        "iterations": 30,
        "learning_rate": 1.5e-3,
        "learning_rate_ratio": 0.08,
        "momentum": 0.8,
        "tau": 0.3 * math.sqrt(2),
    }
    chosen = find_method("daps").settings(**settings | changes)
    return law(find_method("daps"), prior, BOTH_SEEN, y, chosen, 0.3), prior, y


def test_daps_samples_the_posterior():
    """With one step of the flow, which is E[x_0 | x_t]: mean and covariance of the posterior, to 4 percent."""
    (mean, covariance), prior, y = daps_law(ode_steps=1)
    true_mean, true_covariance = posterior(prior, BOTH_SEEN.dense(), y.flatten(), 0.3)
    torch.testing.assert_close(mean, true_mean, rtol=0, atol=0.008)
    torch.testing.assert_close(covariance, true_covariance, rtol=0.04, atol=1e-3)


def test_the_factor_of_daps_likelihood_is_minded():
    """With tau = sigma it would be the posterior of half the noise's variance."""
    (mean, covariance), prior, y = daps_law(ode_steps=1, tau=0.3)
    halved_mean, halved_covariance = posterior(prior, BOTH_SEEN.dense(), y.flatten(), 0.3 / math.sqrt(2))
    torch.testing.assert_close(mean, halved_mean, rtol=0, atol=0.008)
    torch.testing.assert_close(covariance, halved_covariance, rtol=0.04, atol=1e-3)


def test_the_whole_flow_makes_of_daps_the_posterior_of_a_prior_with_twice_the_covariance():
    """The flow shrinks x_t by sqrt(P / (P + sigma^2)) and not by its square, so prior and noise balance at 2 P."""
    (mean, covariance), _, y = daps_law(ode_steps=60)
    doubled = GaussianPrior(PAIR, MEAN, 2 * COVARIANCE)
    wide_mean, wide_covariance = posterior(doubled, BOTH_SEEN.dense(), y.flatten(), 0.3)
    torch.testing.assert_close(mean, wide_mean, rtol=0, atol=0.012)
    torch.testing.assert_close(covariance, wide_covariance, rtol=0.05, atol=1e-3)


DRAWN = {
    "ddrm": {"steps": 10},
    "diffpir": {"steps": 10, "clip": "none"},
    "daps": {"steps": 6, "ode_steps": 2, "iterations": 4, "learning_rate": 2e-3, "tau": 0.3, "momentum": 0.5},
    "pigdm": {"steps": 10},
}


@pytest.mark.parametrize("method", DRAWN)
def test_samples_have_the_mean_and_covariance_of_the_exact_law(method):
    """Monte Carlo with a row's own draws, against the law that unit impulses give."""
    prior, y = problem(ONE_SEEN)
    settings, rows = find_method(method).settings(**DRAWN[method]), 2000
    mean, covariance = law(find_method(method), prior, ONE_SEEN, y, settings, 0.3)
    solution = find_method(method).run(
        prior, ONE_SEEN, y.expand(rows, -1, -1, -1), settings, seeds=range(rows), sigma=0.3
    )
    x = solution.x.flatten(1)
    deviation = covariance.diag().sqrt()
    assert ((x.mean(0) - mean).abs() < 4.5 * deviation / math.sqrt(rows)).all()
    error = (x.T.cov() - covariance).abs() / torch.outer(deviation, deviation)
    assert (error < 4.5 * math.sqrt(2 / rows)).all()
