"""DAPS: decoupled annealing posterior sampling (Zhang et al., CVPR 2025, arXiv 2407.01521, Algorithm 1)."""

import math
from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field
from torch import Tensor

from g2d2.diffusion_steps import Transition, nearest_levels, transitions
from g2d2.methods.base import Batch
from g2d2.methods.diffusion import DiffusionMethod, DiffusionRun, DiffusionSettings
from g2d2.methods.recording import Recorder
from g2d2.methods.settings import free
from g2d2.priors.base import Diffusion, network_passes

_POWER = 7
"""Of the spacing of noise levels: their 7th roots are evenly spaced."""


class DAPSSettings(DiffusionSettings):
    """How DAPS restores one row."""

    steps: int = Field(200, ge=1)
    """Noise levels of the annealing; those that fall on the same level of the prior are visited once."""
    sigma_max: float = Field(100.0, gt=0)
    """Noise over signal of the first level; the prior's nearest is taken."""
    sigma_min: float = Field(0.1, gt=0)
    """Where the annealing ends."""
    ode_steps: int = Field(5, ge=1)
    """Euler steps of the probability flow from a level to the guess of the clean x."""
    ode_sigma_min: float = Field(0.01, gt=0)
    """Where that flow ends."""
    iterations: int = Field(100, ge=0)
    """Langevin steps around a guess."""
    learning_rate: float = free(1e-4, gt=0)
    """Length of a Langevin step at the first level."""
    learning_rate_ratio: float = free(0.01, ge=0, le=1)
    """Of its length at the last level to that at the first; it falls linearly."""
    momentum: float = free(0.0, ge=0, lt=1)
    """Of the Langevin steps; above 0 they are those of damped Hamiltonian dynamics."""
    tau: float = free(0.01, gt=0)
    """Of the likelihood exp(-||y - A x||^2 / tau^2): it assumes noise of tau / sqrt(2)."""


class DAPS(DiffusionMethod[DAPSSettings, Diffusion]):
    """A clean guess by the probability flow, Langevin steps towards y around it, and noise of the next level on top."""

    name = "daps"
    Settings = DAPSSettings
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {},
        "latent": {
            "steps": 50,
            "sigma_max": 10.0,
            "ode_steps": 2,
            "iterations": 24,
            "learning_rate": 1.35e-4,
            "learning_rate_ratio": 0.023,
            "momentum": 0.86,
        },
    }
    advice = "try a smaller learning_rate or a larger tau"

    def restore(self, prior: Diffusion, batch: Batch[DAPSSettings], record: Recorder) -> Tensor:
        shared = batch.shared
        run = DiffusionRun(prior, batch, record)
        langevin = Langevin(run)
        record.levels = annealing_levels(prior.alpha_bar, shared)
        steps = transitions(prior.alpha_bar, record.levels)

        x = steps[0].sigma * run.noise("start")  # x_T, in units of the clean x
        for index, step in enumerate(steps):
            guess = flow(run, x, step, shared)
            x0 = langevin.sample(guess, step.sigma, index, index / (len(steps) + 1))
            run.done(index, len(steps), run.residual(x0), x0)
            x = x0 + step.sigma_next * run.noise("step", index)
        return run.finish(x)

    def work(self, settings: DAPSSettings) -> tuple[float, ...]:
        """Passes through the network, and calls of the operator's gradient."""
        passes = network_passes(settings.guidance)
        return settings.steps * settings.ode_steps * passes, settings.steps * settings.iterations

    def trials(self, settings: DAPSSettings) -> list[DAPSSettings]:
        steps = min(2, settings.steps)
        return [settings.model_copy(update={"steps": steps, "iterations": iterations}) for iterations in (1, 11)]


def annealing_levels(alpha_bar: Tensor, settings: DAPSSettings) -> list[int]:
    """The prior's levels nearest to the annealing's; the last of these is clean and not among them."""
    return nearest_levels(alpha_bar, _spaced(settings.sigma_max, settings.sigma_min, settings.steps)[:-1])


def flow(run: DiffusionRun, x: Tensor, start: Transition, settings: DAPSSettings) -> Tensor:
    """The clean x that the probability flow leads to from x at level t, by Euler steps (B, *z_shape)."""
    alpha_bar = run.prior.alpha_bar
    levels = nearest_levels(alpha_bar, _spaced(start.sigma, settings.ode_sigma_min, settings.ode_steps))
    z = math.sqrt(start.alpha_bar) * x
    if levels == [start.t]:  # already at the end of the flow
        return run.denoise(z, start).x0
    for step in transitions(alpha_bar, levels[:-1], end=levels[-1]):
        guess = run.denoise(z, step)
        z = step.ddim(guess.x0, guess.eps)
    return z / math.sqrt(float(alpha_bar[levels[-1]]))


class Langevin:
    """Steps on x0 ~ exp(-||y - A x0||^2 / tau^2 - ||x0 - guess||^2 / (2 sigma^2))."""

    def __init__(self, run: DiffusionRun):
        self.run = run
        self.tau, self.rate = run.vector("tau"), run.vector("learning_rate")
        self.last_share, self.momentum = run.vector("learning_rate_ratio"), run.vector("momentum")

    def sample(self, guess: Tensor, sigma: float, step: int, progress: float) -> Tensor:
        rate = self.rate * (1 + progress * (self.last_share - 1))
        x, velocity = guess, self.run.noise("velocity", step)
        for iteration in range(self.run.batch.shared.iterations):
            _, gradient = self.run.misfit_gradient(x, squared=True)
            score = (guess - x) / sigma**2 - gradient / self.tau.square()
            fresh = (2 - 2 * self.momentum).sqrt() * self.run.noise("langevin", step, iteration)
            velocity = self.momentum * velocity + rate.sqrt() * score + fresh
            x = x + rate.sqrt() * velocity
        return x


def _spaced(first: float, last: float, steps: int) -> list[float]:
    """So many steps from the first sigma to the last."""
    power = 1 / _POWER
    low, high = min(first, last) ** power, first**power
    return [(high + i / steps * (low - high)) ** _POWER for i in range(steps + 1)]
