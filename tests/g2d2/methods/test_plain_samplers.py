"""Without guidance every method is the plain sampler that it is built on, written here a second time."""

import math
from itertools import pairwise

import pytest
import torch

from g2d2.diffusion_steps import visited_levels
from g2d2.methods import find_method
from g2d2.methods.recording import Recorder
from operators import Spectral
from operators.base import OperatorSettings
from operators.svd import svd_of_mask
from tests.g2d2.methods.cases import measurements, operator_of, prior_for
from tests.g2d2.methods.exact_law import law, make_batch
from tests.g2d2.methods.gaussian_prior import GaussianPrior, covariance_of

SHAPE = (3, 4, 4)
SIGMA = 0.05


class Nothing(Spectral):
    """A = 0: a measurement that says nothing."""

    name = "nothing"

    def __init__(self):
        super().__init__(OperatorSettings(), SHAPE)

    def _apply_forward(self, x):
        return torch.zeros_like(x) * x

    def _apply_adjoint(self, y):
        return torch.zeros_like(y)

    def svd(self):
        return svd_of_mask(torch.zeros(1, 1, *SHAPE[1:]))


def sample(prior, levels, draws, step):
    """z from pure noise through the levels; `step` makes z_s of (z_t, x0, alpha_bar_t, alpha_bar_s, noise, t)."""
    z = draws.normal("start", prior.z_shape)
    path = [*levels, None]
    for index, (t, s) in enumerate(pairwise(path)):
        ab, ab_s = float(prior.alpha_bar[t]), 1.0 if s is None else float(prior.alpha_bar[s])
        x0 = prior.denoise(z, t, None).x0
        z = step(z, x0, ab, ab_s, draws.normal("step", prior.z_shape, index))
    return prior.decode(z) if hasattr(prior, "decode") else z


def ancestral(clip):
    """DDPM with the posterior's variance, by its own formula: mean of q(x_s | x_t, x_0)."""

    def step(z, x0, ab, ab_s, noise):
        x0 = x0.clamp(-1, 1) if clip else x0
        a = ab / ab_s
        mean = (math.sqrt(ab_s) * (1 - a) * x0 + math.sqrt(a) * (1 - ab_s) * z) / (1 - ab)
        return mean + math.sqrt((1 - a) * (1 - ab_s) / (1 - ab)) * noise

    return step


def mixing(share):
    """Noise of which a share is new: `share` of (ab, ab_s) is the new part's standard deviation."""

    def step(z, x0, ab, ab_s, noise):
        eps = (z - math.sqrt(ab) * x0) / math.sqrt(1 - ab)
        new = share(ab, ab_s)
        return math.sqrt(ab_s) * x0 + math.sqrt(max(0.0, 1 - ab_s - new**2)) * eps + new * noise

    return step


def ddim(eta):
    return mixing(lambda ab, ab_s: eta * math.sqrt((1 - ab_s) / (1 - ab) * (1 - ab / ab_s)))


def share_of_all(share):
    return mixing(lambda ab, ab_s: share * math.sqrt(1 - ab_s))


RESAMPLE = {"zeta": 0.0, "resample_every": 0, "latent_iterations": 0, "steps": 7}
CASES = {
    "dps, clipped": ("dps", {"zeta": 0.0, "steps": 7}, ancestral(clip=True)),
    "dps": ("dps", {"zeta": 0.0, "steps": 7, "clip": "none"}, ancestral(clip=False)),
    "dps, all steps": ("dps", {"zeta": 0.0, "steps": 20, "clip": "none"}, ancestral(clip=False)),
    "psld": ("psld", {"omega": 0.0, "gluing": 0.0, "steps": 7}, ddim(0.0)),
    "psld, new noise": ("psld", {"omega": 0.0, "gluing": 0.0, "steps": 7, "ddim_eta": 0.7}, ddim(0.7)),
    "resample": ("resample", RESAMPLE, ddim(0.0)),
    "pigdm": ("pigdm", {"guidance_weight": 0.0, "steps": 7, "ddim_eta": 0.0}, ddim(0.0)),
    "pigdm, ancestral": ("pigdm", {"guidance_weight": 0.0, "steps": 7}, ancestral(clip=False)),
    "diffpir": ("diffpir", {"prior_weight": 1e30, "noise_share": 0.0, "clip": "none", "steps": 7}, ddim(0.0)),
    "diffpir, new noise": (
        "diffpir",
        {"prior_weight": 1e30, "noise_share": 0.25, "clip": "none", "steps": 7},
        share_of_all(0.5),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_without_guidance_it_is_the_plain_sampler(case):
    method, settings, step = CASES[case]
    prior, operator = prior_for(method, SHAPE), operator_of("super_resolution", SHAPE)
    batch = make_batch(operator, measurements(operator, 3), find_method(method).settings(**settings), SIGMA)
    x = find_method(method).restore(prior, batch, Recorder(batch.y.device))
    spacing = "quadratic" if method == "diffpir" else "even"
    expected = sample(prior, visited_levels(20, settings["steps"], spacing), batch.random, step)
    torch.testing.assert_close(x, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("eta", [0.0, 0.85])
def test_ddrm_of_a_measurement_that_says_nothing_is_the_plain_sampler(eta):
    """DDIM at eta 0; else a share eta of all noise is new at every step, which is more than DDIM's own eta."""
    prior, operator = prior_for("ddrm", SHAPE), Nothing()
    y = torch.zeros(3, *SHAPE, dtype=torch.float64)
    batch = make_batch(operator, y, find_method("ddrm").settings(steps=7, eta=eta), SIGMA)
    x = find_method("ddrm").restore(prior, batch, Recorder(batch.y.device))
    draws = batch.random

    class Scaled:  # DDRM's own start: noise of the level's sigma on nothing, in units of the clean x
        def normal(self, stream, shape, step=0):
            noise = draws.normal(stream, shape, step)
            return noise * math.sqrt(1 - float(prior.alpha_bar[-1])) if stream == "start" else noise

    expected = sample(prior, visited_levels(20, 7), Scaled(), share_of_all(eta))
    torch.testing.assert_close(x, expected, rtol=1e-9, atol=1e-9)


def test_daps_without_langevin_steps_is_the_decoupled_sampler():
    """The flow's end, then noise of the next level on it: neither y nor the noise before it matter."""
    prior, operator = prior_for("daps", SHAPE, train_steps=50), operator_of("super_resolution", SHAPE)
    settings = find_method("daps").settings(steps=6, ode_steps=1, iterations=0, sigma_max=20.0)
    batch = make_batch(operator, measurements(operator, 2), settings, SIGMA)
    record = Recorder(batch.y.device)
    x = find_method("daps").restore(prior, batch, record)
    sigmas = ((1 - prior.alpha_bar) / prior.alpha_bar).sqrt().tolist()
    assert sigmas[record.levels[0]] == pytest.approx(20, rel=0.1)
    expected = sigmas[record.levels[0]] * batch.random.normal("start", SHAPE)
    for index, t in enumerate(record.levels):
        x0 = prior.denoise(expected * math.sqrt(float(prior.alpha_bar[t])), t, None).x0
        noise_left = (expected - x0) / sigmas[t]
        expected = x0 + sigmas[0] * noise_left  # the flow ends at the prior's least noise, not at none
        if index + 1 < len(record.levels):
            expected = expected + sigmas[record.levels[index + 1]] * batch.random.normal("step", SHAPE, index)
    torch.testing.assert_close(x, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("method", ["dps", "psld"])
def test_the_plain_samplers_draw_from_the_prior(method):
    """Exactly: with all levels of a fine schedule, ancestral and DDIM samples have its mean and covariance."""
    shape, mean = (1, 1, 2), torch.tensor([0.3, -0.2], dtype=torch.float64)
    options = {"train_steps": 500, "mean": mean, "covariance": covariance_of(2)}
    if method == "psld":
        from tests.g2d2.methods.gaussian_prior import GaussianLatents

        prior, settings = GaussianLatents(shape, **options), {"omega": 0.0, "gluing": 0.0}
    else:
        prior, settings = GaussianPrior(shape, **options), {"zeta": 0.0, "clip": "none"}
    operator = operator_of("identity", shape)
    chosen = find_method(method).settings(steps=500, **settings)
    y = torch.zeros(1, *shape, dtype=torch.float64)
    found_mean, found_covariance = law(find_method(method), prior, operator, y, chosen, 0.0)
    torch.testing.assert_close(found_mean, mean, rtol=0, atol=5e-3)
    torch.testing.assert_close(found_covariance, prior.covariance, rtol=0.02, atol=5e-3)


@pytest.mark.parametrize("variance", ["learned", "posterior", "beta"])
def test_the_variance_of_an_ancestral_step_is_the_one_asked_for(variance):
    prior, operator = prior_for("dps", SHAPE, learned=True), operator_of("identity", SHAPE)
    chosen = find_method("dps").settings(zeta=0.0, clip="none", variance=variance, steps=20)
    batch = make_batch(operator, measurements(operator, 2), chosen, SIGMA)
    x = find_method("dps").restore(prior, batch, Recorder(batch.y.device))

    def step(z, x0, ab, ab_s, noise):
        a = ab / ab_s
        mean = (math.sqrt(ab_s) * (1 - a) * x0 + math.sqrt(a) * (1 - ab_s) * z) / (1 - ab)
        if ab_s == 1:
            return mean
        low, high = (1 - a) * (1 - ab_s) / (1 - ab), 1 - a
        return (
            mean
            + math.sqrt({"learned": low ** (2 / 3) * high ** (1 / 3), "posterior": low, "beta": high}[variance]) * noise
        )

    torch.testing.assert_close(x, sample(prior, range(19, -1, -1), batch.random, step), rtol=1e-9, atol=1e-9)
