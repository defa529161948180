"""PiGDM: pseudo-inverse-guided diffusion (Song et al., ICLR 2023, Algorithm 1)."""

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from pydantic import Field
from torch import Tensor

from g2d2.damped_inverse import damped_inverse
from g2d2.diffusion_steps import Transition, transitions, visited_levels
from g2d2.methods.base import Batch
from g2d2.methods.diffusion import Clip, DiffusionMethod, DiffusionRun, DiffusionSettings, Loss, Rows
from g2d2.methods.recording import Recorder
from g2d2.methods.settings import free
from g2d2.priors.base import Diffusion
from operators import Linear, Operator


class PiGDMSettings(DiffusionSettings):
    """How PiGDM restores one row; its noise level sigma is the measurement's own, and 0 means that y has none."""

    steps: int = Field(100, ge=1)
    """Noise levels visited, evenly spaced; at most the prior's training steps."""
    guidance_weight: float = free(1.0, ge=0)
    """Of the step along the score of y; the paper has 1."""
    ddim_eta: float = free(1.0, ge=0, le=1)
    """Share of noise that a step draws anew: 0 is deterministic, 1 has DDPM's posterior variance."""
    clip: Clip = "none"
    """`guess` cuts every guess of the clean x to [-1, 1]."""
    solver_iterations: int = Field(50, ge=1)
    """Conjugate gradients per step, for operators without a singular value decomposition."""


class PiGDM(DiffusionMethod[PiGDMSettings, Diffusion]):
    """A DDIM step, and one along the score of y given x_t, as if x given x_t were Gaussian; through the network."""

    name = "pigdm"
    Settings = PiGDMSettings
    operator: ClassVar[type[Operator]] = Linear
    of_latents = False
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"paper": {}}

    def restore(self, prior: Diffusion, batch: Batch[PiGDMSettings], record: Recorder) -> Tensor:
        shared = batch.shared
        run = DiffusionRun(prior, batch, record, shared.clip)
        guide, weight, eta = Guide(run), run.vector("guidance_weight"), run.vector("ddim_eta")
        record.levels = visited_levels(len(prior.alpha_bar), shared.steps)

        x = run.noise("start")  # x_T
        for index, step in enumerate(transitions(prior.alpha_bar, record.levels)):
            guess, gradient, residual = run.denoise_with_gradient(x, step, guide.loss(step))
            x = step.ddim(guess.x0, guess.eps, run.noise("step", index), eta)
            x = x - weight * math.sqrt(step.alpha_bar) * gradient
            run.done(index, shared.steps, residual, guess.x0)
        return run.finish(x)


class Guide:
    """A^T (A A^T + sigma_y^2 (s^2 + 1) / s^2 I)^-1 (y - A x0) of some rows, where s is the noise level."""

    def __init__(self, run: DiffusionRun):
        self.sigma_y = run.batch.sigma.view(-1, *[1] * len(run.shape))
        self.solvers = {}
        for rows in run.parts:
            assert isinstance(rows.operator, Linear)
            iterations = run.batch.shared.solver_iterations
            self.solvers[rows.where.start] = damped_inverse(rows.operator, run.batch.y, iterations)

    def loss(self, step: Transition) -> Loss:
        """-<direction, x0>: its gradient by x_t is the direction pulled back through the network, downwards."""

        def loss(rows: Rows, x0: Tensor) -> tuple[Tensor, Tensor]:
            with torch.no_grad():
                residual = rows.y - rows.operator(x0)
                rho = self.sigma_y[rows.where].square() * (1 + 1 / step.sigma**2)
                direction = self.solvers[rows.where.start](residual, rho)
            return -(direction * x0).flatten(1).sum(dim=1), rows.operator.norm(residual)

        return loss
