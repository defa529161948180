"""DPS, DDRM and DiffPIR beside the library deepinv: the same UNet, operator, y and draws give the same images.

That is more than agreement in distribution. `bench/deepinv_methods.py` lists what the library does otherwise as it
ships, and the tests below say by how much each changes a result.
"""

import math

import pytest
import torch

from bench.deepinv_methods import available, ddrm, diffpir, dps
from g2d2.diffusion_steps import transitions, visited_levels
from g2d2.methods import find_method
from g2d2.methods.recording import Recorder
from g2d2.priors.base import Denoised
from g2d2.priors.gaussian_noise import GaussianNoise
from g2d2.priors.random_unets import random_unet
from g2d2.priors.unet_prior import UNetPrior
from operators import build_operator
from tests.g2d2.methods.cases import measurements
from tests.g2d2.methods.exact_law import make_batch
from tests.g2d2.methods.gaussian_prior import GaussianPrior, linear_schedule

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not available(), reason="deepinv is not installed: pip install deepinv"),
]

SHAPE = (3, 8, 8)
SIGMA = 0.05
ROWS = 4
OPERATORS = {
    "super_resolution": {"factor": 2},
    "random_inpainting": {"keep": 0.5},
    "gaussian_blur": {"kernel_size": 3, "std": 0.5},
}


class ExactAtTheEnd(UNetPrior):
    """A small UNet that predicts the clean image, so that guesses stay bounded untrained; its lowest level is clean."""

    def denoise(self, z_t, t, condition):
        guess = super().denoise(z_t, t, condition)
        return guess if t else Denoised(z_t / math.sqrt(float(self.alpha_bar[0])), torch.zeros_like(z_t))


def prior_with(alpha_bar):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return ExactAtTheEnd(random_unet(), GaussianNoise(alpha_bar, "sample"))


def ddpm_schedule():
    """The one that deepinv's DiffPIR has built in."""
    return (1 - torch.linspace(1e-4, 0.02, 1000, dtype=torch.float64)).cumprod(0)


def ours(method, prior, operator, y, **settings):
    batch = make_batch(operator, y, find_method(method).settings(**settings), SIGMA, dtype=torch.float32)
    return find_method(method).restore(prior, batch, Recorder(batch.y.device)).detach(), batch.random


def feed(monkeypatch, draws):
    """Let torch.randn_like give these tensors, one after the other."""
    queue = iter(draws)
    monkeypatch.setattr(torch, "randn_like", lambda like, **options: next(queue).to(like.dtype))


@pytest.fixture(params=OPERATORS)
def problem(request):
    operator = build_operator(request.param, OPERATORS[request.param], x_shape=SHAPE)
    return operator, measurements(operator, ROWS, SIGMA, torch.float32)


@pytest.mark.parametrize("eta", [0.85, 0.3])
def test_ddrm_gives_the_same_images(problem, eta, monkeypatch):
    """With the paper's noise; the library's own, divided by sqrt(2), is multiplied back here."""
    operator, y = problem
    prior, levels = prior_with(linear_schedule(1000)), visited_levels(1000, 10)
    x, random = ours("ddrm", prior, operator, y, steps=10, eta=eta)
    draws = [random.normal("start", SHAPE), *(random.normal("step", SHAPE, index) for index in range(9))]
    feed(monkeypatch, [math.sqrt(2) * noise for noise in draws])
    theirs = ddrm(prior, operator, SIGMA, levels, eta, 1.0)(y)
    torch.testing.assert_close(x, theirs, rtol=0, atol=2e-3)


def test_ddrm_as_it_ships_has_half_the_variance(monkeypatch):
    """Of pixels that are not seen, for a Gaussian prior, where results are linear in the noise."""
    operator = build_operator("random_inpainting", {"keep": 0.5}, x_shape=SHAPE)
    y = measurements(operator, 1, SIGMA, torch.float32).expand(64, -1, -1, -1)
    prior = GaussianPrior(SHAPE, alpha_bar=linear_schedule(1000), dtype=torch.float32)
    x, random = ours("ddrm", prior, operator, y, steps=10)
    feed(monkeypatch, [random.normal("start", SHAPE), *(random.normal("step", SHAPE, index) for index in range(9))])
    theirs = ddrm(prior, operator, SIGMA, visited_levels(1000, 10), 0.85, 1.0)(y)
    unseen = ~operator.mask[0].expand(SHAPE)
    torch.testing.assert_close(theirs.var(0)[unseen], x.var(0)[unseen] / 2, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize(("lambda_", "zeta"), [(1.0, 0.25), (5.0, 0.9)])
def test_diffpir_gives_the_same_images(problem, lambda_, zeta, monkeypatch):
    """With lambda in the paper's meaning, half of the library's.

    It starts from noise on A^T y, of which 0.6 percent is left, where ours starts from noise alone. It returns what its
    lowest level holds where ours returns the clean guess of that, here the same but for being cut to [-1, 1].
    """
    operator, y = problem
    prior = prior_with(ddpm_schedule())
    x, random = ours("diffpir", prior, operator, y, steps=20, prior_weight=lambda_, noise_share=zeta)
    draws = [random.normal("start", SHAPE), *(random.normal("step", SHAPE, index) for index in range(20))]
    feed(monkeypatch, draws)
    theirs = diffpir(prior, operator, SIGMA, 20, lambda_, zeta)(y)
    torch.testing.assert_close(x, theirs.clamp(-1, 1), rtol=0, atol=0.02)


@pytest.mark.parametrize("zeta", [0.3, 1.0])
def test_dps_gives_the_same_images(problem, zeta):
    """With each step's weight divided by what the library multiplies it by."""
    operator, y = problem
    prior, levels = prior_with(linear_schedule(1000)), visited_levels(1000, 20)
    x, random = ours("dps", prior, operator, y, steps=20, zeta=zeta)
    times, start = [(t + 1) / 1000 for t in levels], random.normal("start", SHAPE).double()
    restore, solver = dps(prior, operator, levels, times, zeta, start=start)
    queue = iter(random.normal("step", SHAPE, index) for index in range(20))
    solver.randn_like = lambda like: next(queue).to(like.dtype)
    torch.testing.assert_close(x, restore(y).float(), rtol=0, atol=2e-3)


def test_dps_as_it_ships_weighs_its_steps_otherwise():
    """The weight falls by a hundred from the first step to the last, where the paper's is constant."""
    alpha_bar = linear_schedule(1000)
    weights = [
        math.sqrt(step.alpha_bar * step.alpha_bar_next) * step.sigma**2 * (1 - (step.sigma_next / step.sigma) ** 2)
        for step in transitions(alpha_bar, visited_levels(1000, 20))
    ]
    assert weights[0] > 100 * weights[-1]
