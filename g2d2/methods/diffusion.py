"""What methods on Gaussian diffusions share: settings, checks, and one batch on its way through the noise levels."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, TypeVar

import torch
from pydantic import Field
from torch import Tensor

from g2d2.diffusion_steps import Transition
from g2d2.methods.base import Batch, Method, kind_name
from g2d2.methods.recording import Recorder
from g2d2.methods.settings import MethodSettings, free
from g2d2.objective import misfit
from g2d2.priors.base import Condition, Denoised, Diffusion, Latent, Prior, PriorFacts, network_passes
from operators import InputError, Operator

Clip = Literal["guess", "none"]


class DiffusionSettings(MethodSettings):
    """What every method on a Gaussian diffusion has."""

    guidance: float = free(0.0, ge=0)
    """Classifier-free guidance s: 0 is unconditional, as these methods were published, 1 is conditional."""
    steps: int = Field(1000, ge=1)
    """Noise levels visited, evenly spaced; at most the prior's training steps."""


S = TypeVar("S", bound=DiffusionSettings)
P = TypeVar("P", bound=Diffusion)


class DiffusionMethod(Method[S, P]):
    """A method whose network is a Gaussian denoiser."""

    prior: ClassVar[type[Prior] | None] = Diffusion
    of_latents: ClassVar[bool] = True
    """Whether the prior may diffuse latents; False where A must act on what diffuses."""

    def check(self, facts: PriorFacts | None, operator: Operator, settings: S, prompt: str = "") -> None:
        super().check(facts, operator, settings, prompt)
        if facts is not None:
            facts.check_prompt(prompt if settings.guidance else "", settings.guidance)

    def check_prior(self, facts: PriorFacts | None, settings: S) -> None:
        super().check_prior(facts, settings)
        if facts is not None:
            self._refuse_latents(facts.kind)

    def batch(self, prior: P, operator: Operator, y: Tensor, settings: S | Sequence[S], **options: Any) -> Batch[S]:
        self._refuse_latents(type(prior))
        return super().batch(prior, operator, y, settings, **options)

    def _refuse_latents(self, kind: type) -> None:
        if not self.of_latents and issubclass(kind, Latent):
            raise InputError(
                f"prior: method {self.name!r} needs a {kind_name(Diffusion)} of x itself, and this one is of latents; "
                "use psld or resample with it."
            )

    def work(self, settings: S) -> tuple[float, ...]:
        """Passes through the network."""
        return (settings.steps * network_passes(settings.guidance),)

    def trials(self, settings: S) -> list[S]:
        return [settings.model_copy(update={"steps": min(2, settings.steps)})]


@dataclass(frozen=True)
class Rows:
    """Some rows of a batch, with what is theirs."""

    where: slice
    operator: Operator
    y: Tensor
    condition: Condition


Loss = Callable[[Rows, Tensor], tuple[Tensor, Tensor]]
"""Of some rows and their guess of the clean z: what to minimise (b,), and ||y - A x|| (b,)."""


class DiffusionRun:
    """One batch with its prior: prompts encoded once, calls recorded, gradients a few rows at a time."""

    def __init__(self, prior: Diffusion, batch: Batch[Any], record: Recorder, clip: Clip = "none"):
        self.prior, self.batch, self.record = prior, batch, record
        self.clip = clip == "guess" and not isinstance(prior, Latent)
        self.shape = prior.z_shape
        self.condition = prior.condition(
            batch.prompts, [row.guidance for row in batch.settings], batch.operator.x_shapes(len(batch))
        )
        size = prior.decode_rows or len(batch)
        groups = [slice(start, start + size) for start in range(0, len(batch), size)]
        self.parts = [
            Rows(some, batch.operator.select(some), batch.y[some], self.condition.select(some)) for some in groups
        ]

    def vector(self, name: str) -> Tensor:
        """A free setting of every row, to broadcast over z. (B, 1, ...)"""
        return self.batch.vector(name, len(self.shape) + 1)

    def noise(self, stream: str, step: int = 0, iteration: int = 0) -> Tensor:
        """Standard normal numbers of every row. (B, *z_shape)"""
        return self.batch.random.normal(stream, self.shape, step, iteration)

    def denoise(self, z: Tensor, step: Transition) -> Denoised:
        """The guess at level t. (B, ...)"""
        with self.record.prior(self.condition.passes), torch.no_grad():
            return self._guess(z, step, self.condition)

    def denoise_with_gradient(self, z: Tensor, step: Transition, loss: Loss) -> tuple[Denoised, Tensor, Tensor]:
        """The guess at level t, the gradient of every row's own loss by its z_t, and ||y - A x|| (B,)."""
        guesses, gradients, residuals = list[Denoised](), list[Tensor](), list[Tensor]()
        with self.record.prior(self.condition.passes), torch.enable_grad():
            for rows in self.parts:
                z_t = z[rows.where].detach().requires_grad_()
                guess = self._guess(z_t, step, rows.condition)
                value, residual = loss(rows, guess.x0)
                gradients += torch.autograd.grad(value.sum(), z_t)
                residuals.append(residual.detach())
                guesses.append(_detached(guess))
        self.decoded()
        return _joined(guesses), torch.cat(gradients), torch.cat(residuals)

    def misfit_gradient(self, z: Tensor, squared: bool = False) -> tuple[Tensor, Tensor]:
        """||y - A x(z)||, or its square, of every row (B,), and its gradient by z."""
        values, gradients = list[Tensor](), list[Tensor]()
        with torch.enable_grad():
            for rows in self.parts:
                part = z[rows.where].detach().requires_grad_()
                value = misfit(rows.operator, self.x_of(part, rows.operator), rows.y, squared)
                gradients += torch.autograd.grad(value.sum(), part)
                values.append(value.detach())
        self.decoded()
        return torch.cat(values), torch.cat(gradients)

    def x_of(self, z: Tensor, operator: Operator | None = None) -> Tensor:
        """x of a clean z: decoded where the prior is of latents. (B, *x_shape)"""
        return (operator or self.batch.operator).cropped(self.prior.decode(z) if isinstance(self.prior, Latent) else z)

    @torch.no_grad()
    def residual(self, z: Tensor) -> Tensor:
        """||y - A x(z)|| of every row. (B,)"""
        return misfit(self.batch.operator, self.x_of(z), self.batch.y)

    @torch.no_grad()
    def finish(self, z: Tensor) -> Tensor:
        """x of the last z; z itself is kept where the prior is of latents."""
        self.decoded()
        if isinstance(self.prior, Latent):
            self.record.latent = z.detach()
        return self.x_of(z)

    def done(self, index: int, steps: int, residual: Tensor, z0: Tensor) -> None:
        """A step is over: its residual, a picture of its guess where one is wanted, and the progress."""
        self.record.curve("residual", residual)
        if steps - index in self.record.snapshot_steps:
            with torch.no_grad():
                self.record.snapshot(steps - index, self.x_of(z0))
            self.decoded()
        self.record.step(index + 1, steps)

    def decoded(self) -> None:
        """Every row was decoded once more, where there is a decoder."""
        if isinstance(self.prior, Latent):
            self.record.decoded()

    def _guess(self, z: Tensor, step: Transition, condition: Condition) -> Denoised:
        guess = self.prior.denoise(z, step.t, condition)
        if not self.clip:
            return guess
        x0 = guess.x0.clamp(-1, 1)
        return replace(guess, x0=x0, eps=step.noise_in(z, x0))


def row_misfit(run: DiffusionRun) -> Loss:
    """||y - A x||, unsquared, of every row."""

    def loss(rows: Rows, z0: Tensor) -> tuple[Tensor, Tensor]:
        value = misfit(rows.operator, run.x_of(z0, rows.operator), rows.y)
        return value, value

    return loss


def _detached(guess: Denoised) -> Denoised:
    variance = guess.log_variance
    return Denoised(guess.x0.detach(), guess.eps.detach(), None if variance is None else variance.detach())


def _joined(guesses: Sequence[Denoised]) -> Denoised:
    variances = [guess.log_variance for guess in guesses if guess.log_variance is not None]
    return Denoised(
        torch.cat([guess.x0 for guess in guesses]),
        torch.cat([guess.eps for guess in guesses]),
        torch.cat(variances) if variances else None,
    )
