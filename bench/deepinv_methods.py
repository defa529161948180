"""DPS, DDRM and DiffPIR of the library deepinv on a prior and an operator of ours, in our units; needs deepinv 0.5.

What differs from our methods in the library as it ships, and is made equal here where asked (`corrected`):

- DDRM divides its noise by sqrt(2), so its variance is half of the paper's; singular values below sigma count as zero.
- DPS adds its gradient to the score, so a step is weighed by s(t) s(t') sigma(t)^2 (1 - r^2) and not by zeta alone.
- DiffPIR has rho = lambda sigma^2 / (2 sbar^2) where the paper prints lambda sigma^2 / sbar^2: its proximal step takes
  2 rho, and its sigma is that of images on [0, 1]. Our lambda is half of its. It returns the x of its lowest level, and
  not the clean guess of that.
"""

import importlib
import importlib.util
import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from g2d2.diffusion_steps import noise_over_signal, transitions
from g2d2.priors.base import Condition, Diffusion
from operators import Spectral

Restore = Callable[[Tensor], Tensor]
"""Measurements (B, ...) to x (B, ...), both on [-1, 1]."""


def available() -> bool:
    """Whether deepinv is installed."""
    return importlib.util.find_spec("deepinv") is not None


class LevelDenoiser(nn.Module):
    """D(x, sigma) for x with noise sigma, by a prior's nearest level; on [-1, 1], or on [0, 1] where asked."""

    def __init__(self, prior: Diffusion, zero_to_one: bool = False):
        super().__init__()
        self.prior, self.zero_to_one = prior, zero_to_one
        levels = [noise_over_signal(value) for value in prior.alpha_bar.tolist()]
        self.log_levels = torch.tensor(levels, dtype=torch.float64).log()

    def forward(self, x: Tensor, sigma: Any, *args: Any, **options: Any) -> Tensor:
        noise = float(torch.as_tensor(sigma).flatten()[0]) * (2 if self.zero_to_one else 1)
        t = int((self.log_levels - math.log(noise)).abs().argmin())
        own = (2 * x - 1 if self.zero_to_one else x) * math.sqrt(float(self.prior.alpha_bar[t]))
        condition = Condition(torch.zeros(len(x), 0, 0, device=x.device), torch.ones(len(x)))
        x0 = self.prior.denoise(own.to(self.prior.dtype), t, condition).x0.to(x.dtype)
        return (x0 + 1) / 2 if self.zero_to_one else x0


def physics_of(operator: Spectral, sigma: float) -> Any:
    """Our operator as deepinv's, by its singular value decomposition."""
    deepinv = importlib.import_module("deepinv")
    svd = operator.svd().to(dtype=torch.float32)
    s = svd.embed(svd.singular_values).expand(1, *operator.x_shape).contiguous()
    return deepinv.physics.DecomposablePhysics(
        U=lambda c: svd.U(svd.crop(c)),
        U_adjoint=lambda y: svd.embed(svd.Ut(y)),
        V=svd.V,
        V_adjoint=svd.Vt,
        mask=s,
        img_size=operator.x_shape,
        noise_model=deepinv.physics.GaussianNoise(sigma),
    )


def ddrm(
    prior: Diffusion, operator: Spectral, sigma: float, levels: Sequence[int], eta: float, eta_b: float
) -> Restore:
    """DDRM through the same levels."""
    deepinv = importlib.import_module("deepinv")
    sigmas = [noise_over_signal(float(prior.alpha_bar[t])) for t in levels]
    model = deepinv.sampling.DDRM(LevelDenoiser(prior), sigmas=sigmas, eta=eta, etab=eta_b)
    physics = physics_of(operator, sigma)
    return lambda y: model(y, physics)


def diffpir(prior: Diffusion, operator: Spectral, sigma: float, steps: int, lambda_: float, zeta: float) -> Restore:
    """DiffPIR through its own levels, with lambda as we mean it; the prior must have the linear schedule of DDPM."""
    deepinv = importlib.import_module("deepinv")
    model = deepinv.sampling.DiffPIR(
        LevelDenoiser(prior, zero_to_one=True),
        data_fidelity=deepinv.optim.data_fidelity.L2(),
        sigma=sigma / 2,
        max_iter=steps,
        zeta=zeta,
        lambda_=2 * lambda_,
    )
    physics = physics_of(operator, sigma / 2)
    ones = operator(torch.ones(1, *operator.x_shape))  # [0, 1] is reached through A, which need not keep a constant
    return lambda y: 2 * model((y + ones) / 2, physics) - 1


def dps(
    prior: Diffusion,
    operator: Spectral,
    levels: Sequence[int],
    times: Sequence[float],
    zeta: float,
    corrected: bool = True,
    start: Tensor | None = None,
) -> tuple[Restore, Any]:
    """DPS by DDPM steps through levels that lie at these times of its schedule, and its solver, which draws the noise.

    `start` is what to begin with instead of a draw.
    """
    deepinv = importlib.import_module("deepinv")
    solver = deepinv.sampling.DDPMSolver(timesteps=torch.tensor([*times, 0.0], dtype=torch.float64))
    denoiser = LevelDenoiser(prior)
    model = deepinv.sampling.DPS(denoiser, solver=solver, weight=zeta, minus_one_one=False)
    if corrected:
        weights = {}
        for step in transitions(prior.alpha_bar, levels):
            scales = math.sqrt(step.alpha_bar * step.alpha_bar_next)
            weights[step.t] = zeta / (scales * step.sigma**2 * (1 - (step.sigma_next / step.sigma) ** 2))
        plain = model.data_fidelity.forward

        def forward(x: Tensor, y: Tensor, physics: Any, sigma: Any, *args: Any, **options: Any) -> Any:
            t = int((denoiser.log_levels - math.log(float(sigma))).abs().argmin())
            model.data_fidelity.weight = weights[t]
            return plain(x, y, physics, sigma, *args, **options)

        model.data_fidelity.forward = forward
    physics = physics_of(operator, 0.0)
    shape = operator.x_shape
    return lambda y: model(y, physics, x_init=(len(y), *shape) if start is None else start), solver
