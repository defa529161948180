"""Guidance of every kind against its closed form, for priors whose denoiser is linear and known."""

import math

import pytest
import torch

from g2d2.diffusion_steps import transitions, visited_levels
from g2d2.methods import find_method
from g2d2.methods.diffusion import DiffusionRun, row_misfit
from g2d2.methods.pigdm import Guide
from g2d2.methods.recording import Recorder
from g2d2.methods.resample import HardConsistency, hard_space, resampled
from operators import InputError, Operator
from operators.base import OperatorSettings
from tests.g2d2.methods.cases import measurements, operator_of, prior_for, settings_for
from tests.g2d2.methods.exact_law import make_batch
from tests.g2d2.methods.gaussian_prior import GaussianLatents, GaussianPrior, covariance_of, rotation

SHAPE = (1, 8, 8)
SIZE = 64
LINEAR = ["identity", "super_resolution", "gaussian_blur", "motion_blur", "random_inpainting"]


class Squares(Operator):
    """A nonlinear forward model."""

    name = "squares"

    def __init__(self):
        super().__init__(OperatorSettings(), SHAPE)

    def _apply_forward(self, x):
        return x.square()


def start(method, prior, operator, sigma=0.05, rows=3, **changes):
    y = measurements(operator, rows, sigma)
    batch = make_batch(operator, y, settings_for(method, **changes), sigma)
    return batch, DiffusionRun(prior, batch, Recorder(batch.y.device))


def norm_gradient(gain, A, x0, y):
    """Of ||A x0(x_t) - y|| by x_t, for x0 = gain x_t + ...: A^T r / |r| pulled back."""
    r = x0.flatten(1) @ A.T - y.flatten(1)
    return (r / r.norm(dim=1, keepdim=True)) @ A @ gain


@pytest.mark.parametrize("name", LINEAR)
@pytest.mark.parametrize("t", [0, 7, 19])
def test_dps_guides_along_the_analytic_gradient(name, t):
    operator, prior = operator_of(name, SHAPE), prior_for("dps", SHAPE)
    batch, run = start("dps", prior, operator)
    z = run.noise("somewhere")
    (step,) = transitions(prior.alpha_bar, [t])
    guess, gradient, residual = run.denoise_with_gradient(z, step, row_misfit(run))
    A = operator.dense()
    expected = norm_gradient(prior.gain(t), A, guess.x0, batch.y).view_as(z)
    torch.testing.assert_close(gradient, expected, rtol=1e-8, atol=1e-10)
    r = guess.x0.flatten(1) @ A.T - batch.y.flatten(1)
    torch.testing.assert_close(residual, r.norm(dim=1), rtol=1e-9, atol=1e-10)


def test_a_dps_step_is_the_ancestral_one_minus_zeta_times_it():
    operator, prior = operator_of("super_resolution", SHAPE), prior_for("dps", SHAPE)
    y = measurements(operator, 2)
    x = {
        zeta: find_method("dps")
        .run(prior, operator, y, settings_for("dps", steps=1, zeta=zeta, clip="none"), seeds=[1, 2])
        .x
        for zeta in (0.0, 0.7)
    }
    z = make_batch(operator, y, settings_for("dps"), seeds=[1, 2]).random.normal("start", SHAPE)
    x0 = prior.denoise(z, 19, None).x0
    expected = 0.7 * norm_gradient(prior.gain(19), operator.dense(), x0, y).view_as(z)
    torch.testing.assert_close(x[0.0] - x[0.7], expected, rtol=1e-8, atol=1e-10)


def test_psld_with_an_identity_autoencoder_and_no_gluing_is_ddim_with_dps_guidance():
    operator = operator_of("gaussian_blur", SHAPE)
    prior = GaussianLatents(SHAPE, covariance=covariance_of(SIZE), train_steps=20)
    batch, run = start("psld", prior, operator, omega=0.8, gluing=0.0, steps=6)
    x = find_method("psld").restore(prior, batch, Recorder(batch.y.device))
    z, A = run.noise("start"), operator.dense()
    for step in transitions(prior.alpha_bar, visited_levels(20, 6)):
        guess = prior.denoise(z, step.t, None)
        guidance = norm_gradient(prior.gain(step.t), A, guess.x0, batch.y).view_as(z)
        z = math.sqrt(step.alpha_bar_next) * guess.x0 + math.sqrt(1 - step.alpha_bar_next) * guess.eps - 0.8 * guidance
    torch.testing.assert_close(x, z, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("name", LINEAR)
def test_psld_glues_by_the_exact_adjoint(name):
    """With a rotation for an autoencoder, E(A^T y + x - A^T A x) - z0 is the rotated A^T (y - A x)."""
    operator = operator_of(name, SHAPE)
    turn = rotation(SIZE, 3)
    prior = GaussianLatents(SHAPE, covariance=covariance_of(SIZE), train_steps=20, turn=turn, z_shape=(4, 4, 4))
    y = measurements(operator, 2)
    x = {
        gluing: find_method("psld")
        .run(prior, operator, y, settings_for("psld", steps=1, omega=0.0, gluing=gluing), seeds=[1, 2])
        .x.flatten(1)
        for gluing in (0.0, 0.3)
    }
    z = make_batch(operator, y, settings_for("psld"), seeds=[1, 2]).random.normal("start", (4, 4, 4))
    z0, A = prior.denoise(z, 19, None).x0.flatten(1), operator.dense()
    gap = (y.flatten(1) - z0 @ turn.T @ A.T) @ A  # A^T (y - A x)
    gradient = -(gap / gap.norm(dim=1, keepdim=True)) @ A.T @ A @ turn @ prior.gain(19)
    torch.testing.assert_close((x[0.0] - x[0.3]) @ turn, 0.3 * gradient, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize(
    ("name", "sigma"), [(name, 0.1) for name in LINEAR] + [("super_resolution", 0.0), ("random_inpainting", 0.0)]
)
@pytest.mark.parametrize("t", [2, 12])
def test_pigdm_is_the_score_of_y_given_x_t_for_a_prior_of_unit_covariance(name, sigma, t):
    """There its assumption holds: x_0 given x_t has the covariance (1 - alpha_bar_t) I."""
    operator = operator_of(name, SHAPE)
    prior = GaussianPrior(SHAPE, mean=torch.linspace(-1, 1, SIZE), train_steps=20)
    batch, run = start("pigdm", prior, operator, sigma, solver_iterations=300)
    (step,) = transitions(prior.alpha_bar, [t])
    z = run.noise("somewhere")
    guess, gradient, _ = run.denoise_with_gradient(z, step, Guide(run).loss(step))
    A, spread = operator.dense(), 1 - step.alpha_bar
    covariance = spread * A @ A.T + sigma**2 * torch.eye(len(A), dtype=torch.float64)
    r = batch.y.flatten(1) - guess.x0.flatten(1) @ A.T
    score = r @ torch.linalg.pinv(covariance, rtol=1e-10, hermitian=True) @ A @ prior.gain(t)
    torch.testing.assert_close(-gradient.flatten(1) / spread, score, rtol=2e-3, atol=2e-4)


@pytest.mark.parametrize("method", ["dps", "daps", "resample"])
def test_methods_that_only_differentiate_take_nonlinear_operators(method):
    operator, prior = Squares(), prior_for(method, SHAPE)
    y = measurements(operator, 2)
    find_method(method).check(prior.facts, operator, settings_for(method))
    settings = settings_for(method, **({"tau": 10.0} if method == "daps" else {}))
    solution = find_method(method).run(prior, operator, y, settings, seeds=[1, 2], sigma=0.05)
    assert solution.x.isfinite().all()


@pytest.mark.parametrize(("method", "kind"), [("psld", "linear"), ("diffpir", "linear"), ("ddrm", "spectral")])
def test_methods_that_need_more_refuse_nonlinear_operators(method, kind):
    with pytest.raises(
        InputError, match=rf"^operator: method '{method}' needs one that is {kind}, and squares is not\.$"
    ):
        find_method(method).check(prior_for(method, SHAPE).facts, Squares(), settings_for(method))


@pytest.mark.parametrize("space", ["in_pixels", "in_latents"])
@pytest.mark.parametrize("name", ["super_resolution", "gaussian_blur", "motion_blur", "random_inpainting"])
def test_hard_consistency_reaches_the_discrepancy_it_is_asked_for_and_no_less(space, name):
    """Every row stops at its own noise: a norm of sigma sqrt(m), m counting what is observed."""
    operator = operator_of(name, SHAPE)
    prior = prior_for("resample", SHAPE)
    batch, run = start(
        "resample", prior, operator, sigma=0.1, pixel_iterations=500, latent_iterations=500, latent_rate=0.01
    )
    batch.sigma[:] = torch.tensor([0.1, 0.15, 0.2])
    z = getattr(HardConsistency(prior, run), space)(2 * run.noise("somewhere"))
    asked = batch.sigma * math.sqrt(operator.measurement_count)
    reached = run.residual(z)
    assert (reached <= asked).all()
    assert (reached >= 0.85 * asked).all(), reached / asked


def test_the_papers_and_the_published_stop_lie_far_below_the_noise():
    """At sigma 0.05 they ask for a fifty times smaller residual than the noise leaves: for noise to be fitted."""
    operator, prior = operator_of("super_resolution", SHAPE), prior_for("resample", SHAPE)
    noise = 0.05 * math.sqrt(operator.measurement_count)
    for preset, share in {"paper": 0.002, "published": 0.02, "discrepancy": 1.0}.items():
        stops = find_method("resample").settings(preset).model_dump(include={"stop", "tolerance"})
        _, run = start("resample", prior, operator, sigma=0.05, **stops)
        torch.testing.assert_close(HardConsistency(prior, run).enough, torch.full((3,), share * noise).double())


def test_resampling_is_the_product_of_two_gaussians():
    """Precisions add and means weigh by them: N(sqrt(ab) z0, 1 - ab) and N(z, sigma^2)."""
    alpha_bar = torch.tensor([0.9, 0.5], dtype=torch.float64)
    (step,) = transitions(alpha_bar, [1], end=0)
    z, z0 = torch.tensor([[0.4], [-1.0]], dtype=torch.float64)
    gamma = torch.tensor(40.0, dtype=torch.float64)
    spread = 40 * (1 - 0.9) / (1 - 0.5) * (1 - 0.5 / 0.9)
    precision = 1 / 0.1 + 1 / spread
    mean = (math.sqrt(0.9) * z0 / 0.1 + z / spread) / precision
    torch.testing.assert_close(resampled(z, z0, step, gamma, torch.zeros(1)), mean)
    torch.testing.assert_close(resampled(z, z0, step, gamma, torch.ones(1)), mean + math.sqrt(1 / precision))


def test_hard_consistency_comes_after_the_first_third_in_pixels_then_in_latents():
    settings = find_method("resample").settings()
    spaces = [hard_space(index, settings) for index in range(500)]
    where = {space: [index for index, found in enumerate(spaces) if found == space] for space in ("pixels", "latents")}
    assert (len(where["pixels"]), len(where["latents"])) == (17, 16)
    assert (where["pixels"][0], where["pixels"][-1]) == (169, 329)
    assert (where["latents"][0], where["latents"][-1]) == (339, 489)
    assert spaces.count(None) == 500 - 33
    assert not any(hard_space(index, settings.model_copy(update={"resample_every": 0})) for index in range(500))


def test_weight_decay_is_adamws():
    """Decoupled: a variable without gradient shrinks by rate times decay at every iteration."""
    operator, prior = operator_of("random_inpainting", SHAPE), prior_for("resample", SHAPE)
    changes = {"pixel_iterations": 10, "pixel_rate": 0.1, "stop": "tolerance", "tolerance": 0.0}
    ends = []
    for decay in (0.0, 0.5):
        _, run = start("resample", prior, operator, weight_decay=decay, **changes)
        ends.append(run.x_of(HardConsistency(prior, run).in_pixels(run.noise("somewhere"))))
    unseen = ~operator.mask.expand_as(ends[0])
    torch.testing.assert_close(ends[1][unseen], ends[0][unseen] * (1 - 0.1 * 0.5) ** 10)


def test_a_whole_resample_run_ends_at_the_noise_level():
    operator, prior = operator_of("super_resolution", SHAPE), prior_for("resample", SHAPE)
    y = measurements(operator, 3, 0.1)
    settings = settings_for("resample", latent_iterations=300, latent_rate=0.01)
    solution = find_method("resample").run(prior, operator, y, settings, seeds=range(3), sigma=0.1)
    reached = operator.norm(operator(solution.x) - y) / math.sqrt(operator.measurement_count)
    assert ((reached > 0.05) & (reached <= 0.1)).all(), reached
