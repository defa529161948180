"""PSLD: posterior sampling with latent diffusion (Rout et al., NeurIPS 2023, arXiv 2307.00619, Algorithm 2)."""

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor

from g2d2.diffusion_steps import transitions, visited_levels
from g2d2.methods.base import Batch
from g2d2.methods.diffusion import DiffusionMethod, DiffusionRun, DiffusionSettings, Rows
from g2d2.methods.recording import Recorder
from g2d2.methods.settings import free
from g2d2.objective import misfit
from g2d2.priors.base import Latent, Prior
from operators import Linear, Operator


class PSLDSettings(DiffusionSettings):
    """How PSLD restores one row."""

    omega: float = free(1.0, ge=0)
    """Weight of ||y - A D(z0)||, unsquared."""
    gluing: float = free(0.1, ge=0)
    """The paper's gamma: weight of ||E(A^T y + (I - A^T A) D(z0)) - z0||, unsquared."""
    ddim_eta: float = free(0.0, ge=0, le=1)
    """Share of noise that a step draws anew: 0 is deterministic, 1 has DDPM's posterior variance."""


class PSLD(DiffusionMethod[PSLDSettings, Latent]):
    """A DDIM step, then one down the gradient of the misfit and of the gluing of what y says to what it leaves open."""

    name = "psld"
    Settings = PSLDSettings
    prior: ClassVar[type[Prior] | None] = Latent
    operator: ClassVar[type[Operator]] = Linear
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"paper": {}}
    advice = "try a smaller omega"

    def restore(self, prior: Latent, batch: Batch[PSLDSettings], record: Recorder) -> Tensor:
        shared = batch.shared
        run = DiffusionRun(prior, batch, record)
        omega, gluing, eta = batch.vector("omega", 1), batch.vector("gluing", 1), run.vector("ddim_eta")
        record.levels = visited_levels(len(prior.alpha_bar), shared.steps)

        def loss(rows: Rows, z0: Tensor) -> tuple[Tensor, Tensor]:
            A = rows.operator
            assert isinstance(A, Linear)
            x = run.x_of(z0, A)
            residual = misfit(A, x, rows.y)
            glued = prior.encode(A.adjoint(rows.y) + x - A.adjoint(A(x)))
            gap = torch.linalg.vector_norm((glued - z0).flatten(1), dim=1)
            return omega[rows.where] * residual + gluing[rows.where] * gap, residual

        z = run.noise("start")  # z_T
        for index, step in enumerate(transitions(prior.alpha_bar, record.levels)):
            guess, gradient, residual = run.denoise_with_gradient(z, step, loss)
            z = step.ddim(guess.x0, guess.eps, run.noise("step", index), eta) - gradient
            run.done(index, shared.steps, residual, guess.x0)
        return run.finish(z)
