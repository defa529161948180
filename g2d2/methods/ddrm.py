"""DDRM: denoising diffusion restoration models (Kawar et al., NeurIPS 2022, arXiv 2201.11793, equations 4 to 8)."""

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from pydantic import Field
from torch import Tensor

from g2d2.diffusion_steps import Transition, transitions, visited_levels
from g2d2.methods.base import Batch
from g2d2.methods.diffusion import DiffusionMethod, DiffusionRun, DiffusionSettings
from g2d2.methods.recording import Recorder
from g2d2.methods.settings import free
from g2d2.priors.base import Diffusion
from operators import Operator, Spectral


class DDRMSettings(DiffusionSettings):
    """How DDRM restores one row; its noise level sigma is the measurement's own, and 0 means that y has none."""

    steps: int = Field(20, ge=1)
    """Noise levels visited, evenly spaced; at most the prior's training steps."""
    eta: float = free(0.85, ge=0, le=1)
    """Share of noise drawn anew where y says nothing, or less than the guess."""
    eta_b: float = free(1.0, ge=0, le=1)
    """Weight of y where it says more than the guess."""
    least_singular_value: float = free(1e-5, gt=0)
    """Singular values of A up to this one are taken for zero."""


class DDRM(DiffusionMethod[DDRMSettings, Diffusion]):
    """Noise and measurement balanced for every singular value of A; no gradients."""

    name = "ddrm"
    Settings = DDRMSettings
    operator: ClassVar[type[Operator]] = Spectral
    of_latents = False
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"paper": {}}

    def restore(self, prior: Diffusion, batch: Batch[DDRMSettings], record: Recorder) -> Tensor:
        shared = batch.shared
        run = DiffusionRun(prior, batch, record)
        spectrum = Spectrum(run)
        with_signal = int((prior.alpha_bar > 0).sum())  # a schedule may end in pure noise, which x-bar cannot hold
        record.levels = visited_levels(with_signal, min(shared.steps, with_signal))
        steps = transitions(prior.alpha_bar, record.levels)

        # x-bar is x_t / sqrt(alpha_bar_t) in the coordinates of V, where A is the diagonal of its singular values
        x_bar = spectrum.start(steps[0].sigma, run.noise("start"))
        for index, step in enumerate(steps):
            guess = run.denoise(math.sqrt(step.alpha_bar) * spectrum.to_x(x_bar), step)
            x0_bar = spectrum.from_x(guess.x0)
            run.done(index, len(steps), run.residual(guess.x0), guess.x0)
            x_bar = spectrum.draw(x_bar, x0_bar, step, run.noise("step", index))
        return run.finish(spectrum.to_x(x_bar))


class Spectrum:
    """What y says of every coordinate of V, and the three cases of a draw."""

    def __init__(self, run: DiffusionRun):
        operator = run.batch.operator
        assert isinstance(operator, Spectral)
        y, dims = run.batch.y, run.batch.y.ndim
        svd = operator.svd().to(y.device, torch.float64)
        s = svd.singular_values  # (R, 1, h, w)
        seen = s > run.vector("least_singular_value").double()
        inverse = torch.where(seen, 1 / s.masked_fill(s == 0, 1), 0)
        self.svd = svd.to(dtype=y.dtype)
        self.seen = svd.embed(seen.double()) > 0  # (B, 1, H, W)
        self.y_bar = svd.embed(inverse * svd.Ut(y.double())).to(y.dtype)  # (B, C, H, W)
        sigma_y = run.batch.sigma.view(-1, *[1] * (dims - 1)).double()
        self.sigma_bar = svd.embed(inverse * sigma_y).to(y.dtype)  # sigma_y / s, of y-bar
        self.eta, self.eta_b = run.vector("eta"), run.vector("eta_b")

    def start(self, sigma: float, noise: Tensor) -> Tensor:
        """x-bar at the noisiest level: y-bar with as much noise as it lacks, and noise alone elsewhere."""
        knows = self.seen & (self.sigma_bar <= sigma)
        lacking = (sigma**2 - self.sigma_bar.square()).clamp(min=0).sqrt()
        return torch.where(knows, self.y_bar + lacking * noise, sigma * noise)

    def draw(self, x_bar: Tensor, x0_bar: Tensor, step: Transition, noise: Tensor) -> Tensor:
        """x-bar at the next level, given the guess of the clean one."""
        sigma, kept = step.sigma_next, (1 - self.eta.square()).sqrt()
        eps = (x_bar - x0_bar) / step.sigma
        unseen = x0_bar + sigma * (kept * eps + self.eta * noise)
        told = (self.y_bar - x0_bar) / self.sigma_bar.masked_fill(self.sigma_bar == 0, 1)
        noisy_y = x0_bar + sigma * (kept * told + self.eta * noise)
        lacking = (sigma**2 - (self.eta_b * self.sigma_bar).square()).clamp(min=0).sqrt()
        clear_y = (1 - self.eta_b) * x0_bar + self.eta_b * self.y_bar + lacking * noise
        return torch.where(self.seen, torch.where(self.sigma_bar > sigma, noisy_y, clear_y), unseen)

    def to_x(self, coordinates: Tensor) -> Tensor:
        return self.svd.V(coordinates)

    def from_x(self, x: Tensor) -> Tensor:
        return self.svd.Vt(x)
