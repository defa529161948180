"""ReSample: hard data consistency in latent diffusion (Song et al., ICLR 2024, arXiv 2307.08123, Algorithm 1)."""

import math
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor

from g2d2.diffusion_steps import Transition, transitions, visited_levels
from g2d2.methods.base import Batch
from g2d2.methods.diffusion import DiffusionMethod, DiffusionRun, DiffusionSettings, row_misfit
from g2d2.methods.recording import Recorder
from g2d2.methods.settings import free
from g2d2.objective import misfit
from g2d2.optimizers import RowOptimizer
from g2d2.priors.base import Latent, Prior, network_passes


class ReSampleSettings(DiffusionSettings):
    """How ReSample restores one row."""

    steps: int = Field(500, ge=1)
    """DDIM steps, evenly spaced; at most the prior's training steps."""
    zeta: float = free(0.5, ge=0)
    """Length of a guidance step, times alpha_bar_t: the weight of the gradient of ||y - A D(z0)||, unsquared."""
    resample_weight: float = free(40.0, gt=0)
    """The paper's gamma: how much of a resampled z is what fits y, against what the sampler had."""
    pixel_rate: float = free(0.01, gt=0)
    """Learning rate of the hard consistency in x (middle third of the steps)."""
    latent_rate: float = free(0.005, gt=0)
    """Learning rate of the hard consistency in z (last third)."""
    tolerance: float = free(1e-4, ge=0)
    """Root mean square of y - A x at which hard consistency stops, with `stop: tolerance`."""
    stop: Literal["tolerance", "noise"] = "tolerance"
    """`noise` stops at the measurement's own noise level sigma, where a better fit would only fit noise."""
    resample_every: int = Field(10, ge=0)
    """Steps between hard consistencies, after the first third; 0: never."""
    pixel_iterations: int = Field(500, ge=0)
    """Most iterations of a hard consistency in x; a row that has reached its stop rests for those that are left."""
    latent_iterations: int = Field(500, ge=0)
    """Most iterations of a hard consistency in z, and of the last one of all."""
    lookahead: int = Field(0, ge=0)
    """Further DDIM steps whose guess a hard consistency starts from."""
    weight_decay: float = free(0.0, ge=0)
    """Of AdamW, in the hard consistencies."""


class ReSample(DiffusionMethod[ReSampleSettings, Latent]):
    """DDIM with a guidance step; every few steps the guess is made to fit y and noise is added to it again."""

    name = "resample"
    Settings = ReSampleSettings
    prior: ClassVar[type[Prior] | None] = Latent
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {},
        "published": {"tolerance": 1e-3, "pixel_iterations": 2000, "lookahead": 5, "weight_decay": 0.01},
        "discrepancy": {"stop": "noise"},
    }
    advice = "try a smaller zeta"

    def restore(self, prior: Latent, batch: Batch[ReSampleSettings], record: Recorder) -> Tensor:
        shared = batch.shared
        run = DiffusionRun(prior, batch, record)
        consistency = HardConsistency(prior, run)
        zeta, gamma, loss = run.vector("zeta"), run.vector("resample_weight"), row_misfit(run)
        record.levels = visited_levels(len(prior.alpha_bar), shared.steps)
        path = transitions(prior.alpha_bar, record.levels)

        z = run.noise("start")  # z_T
        for index, step in enumerate(path):
            guess, gradient, residual = run.denoise_with_gradient(z, step, loss)
            z, z0 = step.ddim(guess.x0, guess.eps) - zeta * step.alpha_bar * gradient, guess.x0
            space = hard_space(index, shared)
            if space is not None:
                ahead = z
                for further in path[index + 1 : index + 1 + shared.lookahead]:
                    guess = run.denoise(ahead, further)
                    ahead, z0 = further.ddim(guess.x0, guess.eps), guess.x0
                z0 = consistency.in_pixels(z0) if space == "pixels" else consistency.in_latents(z0)
                z = resampled(z, z0, step, gamma, run.noise("resample", index))
            run.done(index, shared.steps, residual, z0)
        return run.finish(consistency.in_latents(z))

    def work(self, settings: ReSampleSettings) -> tuple[float, ...]:
        """Passes through the network with gradients and without, calls of the operator, and of the decoder."""
        passes = network_passes(settings.guidance)
        spaces = [hard_space(index, settings) for index in range(settings.steps)]
        pixels, latents = spaces.count("pixels"), spaces.count("latents")
        return (
            settings.steps * passes,
            (pixels + latents) * settings.lookahead * passes,
            pixels * settings.pixel_iterations,
            (latents + 1) * settings.latent_iterations,
        )

    def trials(self, settings: ReSampleSettings) -> list[ReSampleSettings]:
        short = {"steps": min(3, settings.steps), "resample_every": min(1, settings.resample_every)}
        least = {"lookahead": 0, "pixel_iterations": 1, "latent_iterations": 1}
        more: list[dict[str, int]] = [{}, {"lookahead": 1}, {"pixel_iterations": 21}, {"latent_iterations": 5}]
        return [settings.model_copy(update=short | least | change) for change in more]


def hard_space(index: int, settings: ReSampleSettings) -> Literal["pixels", "latents"] | None:
    """Where a step's guess is made to fit y: in x in the middle third, in z in the last, at every so many steps."""
    left, third = settings.steps - 1 - index, settings.steps // 3
    if not settings.resample_every or left == 0 or left > settings.steps - third or left % settings.resample_every:
        return None
    return "pixels" if left >= third else "latents"


def resampled(z: Tensor, z0: Tensor, step: Transition, gamma: Tensor, noise: Tensor) -> Tensor:
    """A draw of z_s from N(sqrt(ab_s) z0, 1 - ab_s) times N(z, sigma^2), normalised: proposition 1 of the paper."""
    own = 1 - step.alpha_bar_next
    spread = gamma * step.posterior_variance  # sigma^2
    mean = (spread * math.sqrt(step.alpha_bar_next) * z0 + own * z) / (spread + own)
    return mean + (spread * own / (spread + own)).sqrt() * noise


class HardConsistency:
    """Fits x or z to y by AdamW, every row until its residual is small enough."""

    def __init__(self, prior: Latent, run: DiffusionRun):
        self.prior, self.run = prior, run
        batch = run.batch
        counts = batch.operator.measurement_counts
        entries = torch.tensor(counts, dtype=batch.y.dtype, device=batch.y.device)  # m, (1,) or (B,)
        level = batch.sigma if batch.shared.stop == "noise" else batch.vector("tolerance", 1)
        self.enough = level * entries.sqrt()  # (B,)
        self.decay = run.vector("weight_decay")

    def in_pixels(self, z0: Tensor) -> Tensor:
        """z of the x near D(z0) that fits y."""
        batch, settings = self.run.batch, self.run.batch.shared
        with torch.no_grad():
            x = self.run.x_of(z0)
        self.run.decoded()
        rate = batch.vector("pixel_rate", x.ndim)
        x, residual = self._fit(x, rate, settings.pixel_iterations, self._misfit_of_x)
        self.run.record.curve("consistency", residual)
        with torch.no_grad():
            return self.prior.encode(x)

    def in_latents(self, z0: Tensor) -> Tensor:
        """The z near z0 that decodes to what fits y."""
        rate, iterations = self.run.vector("latent_rate"), self.run.batch.shared.latent_iterations
        z, residual = self._fit(z0, rate, iterations, self.run.misfit_gradient)
        self.run.record.curve("consistency", residual)
        return z

    def _misfit_of_x(self, x: Tensor) -> tuple[Tensor, Tensor]:
        x = x.detach().requires_grad_()
        value = misfit(self.run.batch.operator, x, self.run.batch.y)
        (gradient,) = torch.autograd.grad(value.sum(), x)
        return value.detach(), gradient

    def _fit(
        self, start: Tensor, rate: Tensor, iterations: int, misfit_gradient: Callable[[Tensor], tuple[Tensor, Tensor]]
    ) -> tuple[Tensor, Tensor]:
        """The variable where a row first reached its stop, or after so many iterations, and the residual last seen."""
        variable, optimizer = start.detach().clone(), RowOptimizer("adam", start)
        residual = torch.full_like(self.run.batch.y.flatten(1)[:, 0], torch.inf)
        for _ in range(iterations):
            residual, gradient = misfit_gradient(variable)
            open_rate = rate * (residual > self.enough).view_as(rate)
            variable = optimizer.update_(variable * (1 - open_rate * self.decay), gradient, open_rate)
        return variable, residual
