"""Steps of a Gaussian diffusion: which noise levels are visited, and how one leads to a less noisy one.

The levels t are the prior's own, 0 to T - 1; -1 stands for the clean end. All numbers of a schedule live on the host.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import torch
from torch import Tensor

from g2d2.priors.base import Denoised

CLEAN = -1
"""The level after the last step: no noise."""

Spacing = Literal["even", "quadratic"]
Variance = Literal["learned", "posterior", "beta"]


@dataclass(frozen=True)
class Transition:
    """From level t to the less noisy level s, which need not be t - 1."""

    t: int
    s: int
    alpha_bar: float
    alpha_bar_next: float
    one_step: "Transition | None" = None
    """t -> t - 1, for which a network learned its variance; None where it is this transition itself."""

    @property
    def sigma(self) -> float:
        """Noise over signal at t."""
        return noise_over_signal(self.alpha_bar)

    @property
    def sigma_next(self) -> float:
        """Noise over signal at s."""
        return noise_over_signal(self.alpha_bar_next)

    @property
    def beta(self) -> float:
        """Variance that the forward process adds from s to t."""
        return 1 - self.alpha_bar / self.alpha_bar_next

    @property
    def posterior_variance(self) -> float:
        """Variance of x_s given x_t and x_0."""
        return self.beta * (1 - self.alpha_bar_next) / (1 - self.alpha_bar)

    def noise_in(self, x_t: Tensor, x0: Tensor) -> Tensor:
        """The noise that makes x_t of this x_0."""
        return (x_t - math.sqrt(self.alpha_bar) * x0) / math.sqrt(1 - self.alpha_bar)

    def ancestral(self, x_t: Tensor, guess: Denoised, noise: Tensor, variance: Variance = "learned") -> Tensor:
        """A draw of x_s given x_t and x_0 = `guess.x0`, as DDPM does; the clean end gets no noise."""
        share = math.sqrt(self.alpha_bar / self.alpha_bar_next) * (1 - self.alpha_bar_next) / (1 - self.alpha_bar)
        mean = math.sqrt(self.alpha_bar_next) * self.beta / (1 - self.alpha_bar) * guess.x0 + share * x_t
        return mean if self.s == CLEAN else mean + self.deviation(guess.log_variance, variance) * noise

    def deviation(self, log_variance: Tensor | None, variance: Variance) -> Tensor | float:
        """Standard deviation of `ancestral`: the learned one, where there is one, at this distance of t and s.

        Networks learn where the log-variance lies between those of the posterior and of the forward process; that
        place carries over to longer steps, the variance itself does not.
        """
        if variance == "learned" and log_variance is not None:
            if self.one_step is not None:
                (low, high), (from_low, from_high) = self._log_variances(), self.one_step._log_variances()
                log_variance = low + (log_variance - from_low) * ((high - low) / (from_high - from_low))
            return (0.5 * log_variance).exp()
        return math.sqrt(self.beta if variance == "beta" else self.posterior_variance)

    def ddim(self, x0: Tensor, eps: Tensor, noise: Tensor | None = None, eta: Tensor | float = 0.0) -> Tensor:
        """x_s of a clean x and a noise, a share of which is drawn anew: eta = 1 is DDPM's posterior variance."""
        mean, left = math.sqrt(self.alpha_bar_next) * x0, 1 - self.alpha_bar_next
        if noise is None:
            return mean + math.sqrt(left) * eps
        drawn = eta * eta * self.posterior_variance
        kept, fresh = (torch.as_tensor(part, dtype=x0.dtype, device=x0.device) for part in (left - drawn, drawn))
        return mean + kept.sqrt() * eps + fresh.sqrt() * noise

    def _log_variances(self) -> tuple[float, float]:
        return math.log(self.posterior_variance), math.log(self.beta)


def noise_over_signal(alpha_bar: float) -> float:
    """sigma of a level in the units of a clean x (variance exploding); infinite where no signal is left."""
    return math.sqrt((1 - alpha_bar) / alpha_bar) if alpha_bar > 0 else math.inf


def visited_levels(train_steps: int, steps: int, spacing: Spacing = "even") -> list[int]:
    """So many distinct levels from T - 1 down to 0; `quadratic` takes more of the less noisy ones."""
    if steps == 1:
        return [train_steps - 1]
    last = steps - 1
    if spacing == "even":
        return [(2 * i * (train_steps - 1) + last) // (2 * last) for i in reversed(range(steps))]
    levels = [0]
    for i in reversed(range(last)):
        wanted = train_steps - 1 - math.floor(math.sqrt(i / last) * train_steps)
        levels.append(max(wanted, levels[-1] + 1))
    return levels[::-1]


def nearest_levels(alpha_bar: Tensor, sigmas: Sequence[float]) -> list[int]:
    """The level whose noise over signal is nearest to each sigma, by ratio; a level that repeats is named once."""
    known = torch.tensor([noise_over_signal(value) for value in alpha_bar.tolist()], dtype=torch.float64).log()
    wanted = torch.tensor(sigmas, dtype=torch.float64).log()
    levels = (known - wanted[:, None]).abs().argmin(dim=1).tolist()
    return list(dict.fromkeys(levels))


def transitions(alpha_bar: Tensor, levels: Sequence[int], end: int = CLEAN) -> list[Transition]:
    """The steps through these levels, most noisy first, and on to `end`."""
    clean_to_noisy = alpha_bar.tolist()

    def between(t: int, s: int, one_step: Transition | None = None) -> Transition:
        return Transition(t, s, clean_to_noisy[t], 1.0 if s == CLEAN else clean_to_noisy[s], one_step)

    path = levels if levels[-1] == end else [*levels, end]
    return [between(t, s, between(t, t - 1) if s != t - 1 else None) for t, s in pairwise(path)]
