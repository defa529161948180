"""DPS: diffusion posterior sampling (Chung et al., ICLR 2023, arXiv 2209.14687, Algorithm 1)."""

from collections.abc import Mapping
from typing import Any, ClassVar

from torch import Tensor

from g2d2.diffusion_steps import Variance, transitions, visited_levels
from g2d2.methods.base import Batch
from g2d2.methods.diffusion import Clip, DiffusionMethod, DiffusionRun, DiffusionSettings, row_misfit
from g2d2.methods.recording import Recorder
from g2d2.methods.settings import free
from g2d2.priors.base import Diffusion


class DPSSettings(DiffusionSettings):
    """How DPS restores one row."""

    zeta: float = free(1.0, ge=0)
    """Length of a guidance step: the weight of the gradient of ||y - A x0||, unsquared."""
    clip: Clip = "guess"
    """`guess` cuts every guess of the clean x to [-1, 1]; guesses of latents are never cut."""
    variance: Variance = "learned"
    """Of an ancestral step: the network's own where it learned one, else the posterior's; or always that, or beta."""


class DPS(DiffusionMethod[DPSSettings, Diffusion]):
    """An ancestral step, then one down the gradient of ||y - A x0(x_t)||, through the network and per image."""

    name = "dps"
    Settings = DPSSettings
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"paper": {}, "published": {"zeta": 0.3}}
    experiments: ClassVar[Mapping[str, Mapping[str, Mapping[str, Any]]]] = {
        "paper": {
            "ffhq-sr4": {"zeta": 1.0},
            "ffhq-gaussian-deblur": {"zeta": 1.0},
            "imagenet-sr4": {"zeta": 1.0},
            "imagenet-gaussian-deblur": {"zeta": 0.4},
        },
        "published": {
            name: {"zeta": 0.3}
            for name in ("ffhq-sr4", "ffhq-gaussian-deblur", "imagenet-sr4", "imagenet-gaussian-deblur")
        },
    }
    advice = "try a smaller zeta"

    def restore(self, prior: Diffusion, batch: Batch[DPSSettings], record: Recorder) -> Tensor:
        shared = batch.shared
        run = DiffusionRun(prior, batch, record, shared.clip)
        zeta, loss = run.vector("zeta"), row_misfit(run)
        record.levels = visited_levels(len(prior.alpha_bar), shared.steps)

        z = run.noise("start")  # x_T
        for index, step in enumerate(transitions(prior.alpha_bar, record.levels)):
            guess, gradient, residual = run.denoise_with_gradient(z, step, loss)
            z = step.ancestral(z, guess, run.noise("step", index), shared.variance) - zeta * gradient
            run.done(index, shared.steps, residual, guess.x0)
        return run.finish(z)
