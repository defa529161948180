"""DiffPIR: diffusion for plug-and-play restoration (Zhu et al., CVPRW 2023, arXiv 2305.08995, Algorithm 1)."""

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from pydantic import Field
from torch import Tensor

from g2d2.damped_inverse import damped_inverse
from g2d2.diffusion_steps import CLEAN, Spacing, transitions, visited_levels
from g2d2.methods.base import Batch
from g2d2.methods.diffusion import Clip, DiffusionMethod, DiffusionRun, DiffusionSettings
from g2d2.methods.recording import Recorder
from g2d2.methods.settings import free
from g2d2.priors.base import Diffusion
from operators import Linear, Operator


class DiffPIRSettings(DiffusionSettings):
    """How DiffPIR restores one row; its noise level sigma is the measurement's own, and 0 means that y has none."""

    steps: int = Field(100, ge=1)
    """Noise levels visited; at most the prior's training steps."""
    prior_weight: float = free(1.0, ge=0)
    """The paper's lambda: weight of the guess against y, in units where 1 trusts a guess as far as its noise level."""
    noise_share: float = free(0.25, ge=0, le=1)
    """The paper's zeta: share of the noise that a step draws anew."""
    clip: Clip = "guess"
    """`guess` cuts every guess of the clean x to [-1, 1]."""
    spacing: Spacing = "quadratic"
    """Of the noise levels: evenly spaced, or more of the less noisy ones."""
    solver_iterations: int = Field(50, ge=1)
    """Conjugate gradients per data step, for operators without a singular value decomposition."""


class DiffPIR(DiffusionMethod[DiffPIRSettings, Diffusion]):
    """A denoising step, the nearest x that fits y, and noise again; no gradients."""

    name = "diffpir"
    Settings = DiffPIRSettings
    operator: ClassVar[type[Operator]] = Linear
    of_latents = False
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {},
        "published": {"prior_weight": 1.75, "noise_share": 0.3},
    }
    experiments: ClassVar[Mapping[str, Mapping[str, Mapping[str, Any]]]] = {
        "paper": {
            "ffhq-sr4": {"noise_share": 0.25},
            "ffhq-gaussian-deblur": {"noise_share": 0.1},
            "imagenet-sr4": {"noise_share": 0.25},
            "imagenet-gaussian-deblur": {"noise_share": 0.1},
        },
    }

    def restore(self, prior: Diffusion, batch: Batch[DiffPIRSettings], record: Recorder) -> Tensor:
        shared, A, y = batch.shared, batch.operator, batch.y
        assert isinstance(A, Linear)
        run = DiffusionRun(prior, batch, record, shared.clip)
        zeta = run.vector("noise_share")
        lambda_sigma = run.vector("prior_weight") * batch.sigma.view_as(zeta).square()
        solve = damped_inverse(A, y, shared.solver_iterations)
        record.levels = visited_levels(len(prior.alpha_bar), shared.steps, shared.spacing)

        x = run.noise("start")  # x_T
        for index, step in enumerate(transitions(prior.alpha_bar, record.levels)):
            guess = run.denoise(x, step)
            x0, eps = guess.x0, guess.eps
            with torch.no_grad():
                residual = y - A(x0)
                if step.s != CLEAN:  # argmin ||y - A x||^2 + rho ||x - x0||^2, and the noise that x_t then holds
                    x0 = x0 + solve(residual, lambda_sigma / step.sigma**2)
                    eps = step.noise_in(x, x0)
            mixed = (1 - zeta).sqrt() * eps + zeta.sqrt() * run.noise("step", index)
            x = step.ddim(x0, mixed)
            run.done(index, shared.steps, A.norm(residual), x0)
        return run.finish(x)
