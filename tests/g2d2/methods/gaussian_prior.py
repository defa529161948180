"""Priors whose denoiser is known in closed form: x ~ N(mean, covariance), and latents turned into x by a rotation."""

import math

import torch
from torch import Tensor

from g2d2.priors.base import Condition, Denoised, Diffusion, Latent, PriorFacts


def linear_schedule(train_steps: int) -> Tensor:
    """alpha_bar of the linear schedule in the limit of many levels, so that the last is as noisy whatever T is."""
    time = torch.arange(1, train_steps + 1, dtype=torch.float64) / train_steps
    return torch.exp(-0.1 * time - 9.95 * time.square())


def geometric_schedule(train_steps: int, sigma_min: float, sigma_max: float) -> Tensor:
    """alpha_bar of levels whose noise over signal grows by the same factor."""
    sigma = torch.logspace(math.log10(sigma_min), math.log10(sigma_max), train_steps, dtype=torch.float64)
    return 1 / (1 + sigma.square())


def covariance_of(size: int, seed: int = 0) -> Tensor:
    """A full covariance with eigenvalues from 0.1 to 1.5."""
    turn = rotation(size, seed)
    return turn @ torch.linspace(0.1, 1.5, size, dtype=torch.float64).diag() @ turn.T


def rotation(size: int, seed: int = 0) -> Tensor:
    """An orthogonal matrix."""
    rough = torch.randn(size, size, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return torch.linalg.qr(rough)[0]


class GaussianPrior(Diffusion):
    """x ~ N(mean, covariance) with the exact E[x_0 | x_t]; its variance counts as learned where asked."""

    def __init__(
        self,
        x_shape,
        mean: Tensor | None = None,
        covariance: Tensor | None = None,
        *,
        train_steps: int = 100,
        alpha_bar: Tensor | None = None,
        learned: bool = False,
        decode_rows: int | None = None,
        device: str = "cpu",
        dtype: torch.dtype = torch.float64,
    ):
        super().__init__(device)
        self.x_shape = self.z_shape = tuple(x_shape)
        self.dtype, self.decode_rows, self.learned = dtype, decode_rows, learned
        size = math.prod(self.x_shape)
        self.mean = torch.zeros(size, dtype=torch.float64) if mean is None else mean.flatten().double()
        self.covariance = torch.eye(size, dtype=torch.float64) if covariance is None else covariance.double()
        self.alpha_bar = linear_schedule(train_steps) if alpha_bar is None else alpha_bar
        self._values, self._vectors = torch.linalg.eigh(self.covariance)
        self._gains: dict[int, Tensor] = {}
        self.calls: list[int] = []

    @property
    def facts(self) -> PriorFacts:
        return PriorFacts(type(self), "image", self.x_shape, train_steps=len(self.alpha_bar))

    def condition(self, prompts, guidance, x_shapes=None) -> Condition:
        return Condition(torch.zeros(len(prompts), 0, 0, device=self.device), torch.tensor(guidance))

    def gain(self, t: int) -> Tensor:
        """E[x_0 | x_t] = mean + gain (x_t - sqrt(alpha_bar_t) mean). (n, n)"""
        if t not in self._gains:
            alpha_bar = float(self.alpha_bar[t])
            shares = math.sqrt(alpha_bar) * self._values / (alpha_bar * self._values + 1 - alpha_bar)
            self._gains[t] = self._vectors @ shares.diag() @ self._vectors.T
        return self._gains[t]

    def denoise(self, z_t: Tensor, t: int, condition: Condition) -> Denoised:
        self.calls.append(t)
        alpha_bar = float(self.alpha_bar[t])
        mean = self.mean.to(z_t)
        rows = z_t.flatten(1) - math.sqrt(alpha_bar) * mean
        # not a matrix product, whose rounding may depend on the number of rows
        x0 = (mean + (self.gain(t).to(z_t) * rows[:, None]).sum(-1)).view_as(z_t)
        eps = (z_t - math.sqrt(alpha_bar) * x0) / math.sqrt(1 - alpha_bar)
        return Denoised(x0, eps, self._log_variance(z_t, t) if self.learned else None)

    def _log_variance(self, z_t: Tensor, t: int) -> Tensor:
        """A third of the way from the posterior's log-variance to the forward process's."""
        alpha_bar, before = float(self.alpha_bar[t]), float(self.alpha_bar[t - 1]) if t else 1.0
        beta = 1 - alpha_bar / before
        low = beta * (1 - before) / (1 - alpha_bar) if t else beta
        return torch.full_like(z_t, math.log(low) * 2 / 3 + math.log(beta) / 3)


class GaussianLatents(GaussianPrior, Latent):
    """z ~ N(mean, covariance), and x = turn z: a linear autoencoder without loss; the identity by default."""

    def __init__(self, x_shape, *args, turn: Tensor | None = None, z_shape=None, **options):
        super().__init__(x_shape, *args, **options)
        self.z_shape = tuple(z_shape or x_shape)
        self.turn = torch.eye(math.prod(self.x_shape), dtype=torch.float64) if turn is None else turn

    def decode(self, z: Tensor) -> Tensor:
        return (self.turn.to(z) * z.flatten(1)[:, None]).sum(-1).view(-1, *self.x_shape)

    def encode(self, x: Tensor) -> Tensor:
        return (self.turn.T.to(x) * x.flatten(1)[:, None]).sum(-1).view(-1, *self.z_shape)


def posterior(prior: GaussianPrior, A: Tensor, y: Tensor, sigma: float) -> tuple[Tensor, Tensor]:
    """Mean and covariance of x given y = A x + sigma noise, for a dense A (m, n) and one y (m,)."""
    noise = sigma**2 * torch.eye(len(A), dtype=torch.float64)
    gain = prior.covariance @ A.T @ torch.linalg.pinv(A @ prior.covariance @ A.T + noise, hermitian=True, rtol=1e-12)
    return prior.mean + gain @ (y - A @ prior.mean), prior.covariance - gain @ A @ prior.covariance
