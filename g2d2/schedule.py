"""Noise schedules of mask-absorbing discrete diffusion, on time levels 0 (clean) to T (all masked).

A level n > 0 is the training timestep n - 1 of a diffusers scheduler, which counts noisy steps from zero. Between two
levels s < t a token keeps its value with probability alpha + beta, moves to any other code with beta and is masked
with gamma; the mask absorbs.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import torch
from torch import Tensor

from g2d2.choices import BetaDenominator, TokenSpacing
from operators import InputError


class Transition(NamedTuple):
    """Probabilities of q(z_t | z_s): keep (beyond beta), any given code, mask."""

    alpha: float
    beta: float
    gamma: float


@dataclass(frozen=True)
class NoiseSchedule:
    """Cumulative probabilities of keeping and masking a token at every level, in float64."""

    alpha_bar: Tensor  # (T + 1,), from 1
    gamma_bar: Tensor  # (T + 1,), from 0
    num_codes: int
    beta_denominator: BetaDenominator = "K"
    """K makes every column of the transition sum to one; the paper prints K + 1."""

    def __post_init__(self) -> None:
        a, g = self.alpha_bar, self.gamma_bar
        if a.shape != g.shape or a.ndim != 1 or len(a) < 2:
            raise InputError(
                f"schedule: alpha_bar {tuple(a.shape)} and gamma_bar {tuple(g.shape)} must be equally long vectors."
            )
        tolerance = 1e-9
        broken = (a < 0) | (g < -tolerance) | (a + g > 1 + tolerance)
        if broken.any() or a[0] != 1 or g[0] != 0 or (g.diff() < -tolerance).any():
            raise InputError(
                "schedule: alpha_bar must start at 1, gamma_bar must rise from 0, and their sum must stay within 1."
            )

    @property
    def train_steps(self) -> int:
        return len(self.alpha_bar) - 1

    @property
    def mask_id(self) -> int:
        return self.num_codes

    def between(self, s: int, t: int) -> Transition:
        """q(z_t | z_s) for any 0 <= s < t; `between(0, t)` is the cumulative transition."""
        if not 0 <= s <= t <= self.train_steps:
            raise InputError(f"levels: s={s}, t={t} must satisfy 0 <= s <= t <= {self.train_steps}.")
        a_s, a_t = float(self.alpha_bar[s]), float(self.alpha_bar[t])
        g_s, g_t = float(self.gamma_bar[s]), float(self.gamma_bar[t])
        alpha = a_t / a_s if a_s > 0 else 0.0
        gamma = 1 - (1 - g_t) / (1 - g_s) if g_s < 1 else 1.0
        codes = self.num_codes + (self.beta_denominator == "K+1")
        return Transition(alpha, max(0.0, 1 - alpha - gamma) / codes, gamma)

    def levels(self, steps: int) -> list[int]:
        """`steps` + 1 levels from T down to 0, as evenly spaced as integers allow."""
        if not 1 <= steps <= self.train_steps:
            raise InputError(f"steps: {steps} is not between 1 and the prior's {self.train_steps} training steps.")
        return [round(self.train_steps * (steps - i) / steps) for i in range(steps + 1)]

    def transitions(self, steps: int, spacing: TokenSpacing = "even") -> list[tuple[int, int]]:
        """Levels t and s of every step, which asks the prior at t and draws z_s.

        With `one-level` t is s + 1 wherever the step before has ended: with fewer steps than trained, the prior is
        then told less noise than there is.
        """
        return [(s + 1 if spacing == "one-level" else t, s) for t, s in pairwise(self.levels(steps))]

    def with_beta(self, denominator: BetaDenominator) -> "NoiseSchedule":
        return NoiseSchedule(self.alpha_bar, self.gamma_bar, self.num_codes, denominator)

    def without_moves(self) -> "NoiseSchedule":
        """The same masking with no moves between codes.

        VQ-Diffusion moves one token in a million, yet the Markov posterior leans on it: where alpha disagrees with an
        unmasked token, the move is the only explanation, and the token follows alpha. Without moves it stays.
        """
        return NoiseSchedule(1 - self.gamma_bar, self.gamma_bar, self.num_codes, self.beta_denominator)


def vq_diffusion_schedule(config: Mapping[str, Any]) -> NoiseSchedule:
    """The linear schedule of VQ-Diffusion, from the config of a diffusers `VQDiffusionScheduler`."""
    steps = int(config["num_train_timesteps"])

    def cumulative(clean: float, start: float, end: float) -> Tensor:
        noisy = torch.linspace(start, end, steps, dtype=torch.float64) if steps > 1 else torch.tensor([end]).double()
        return torch.cat([torch.tensor([clean], dtype=torch.float64), noisy])

    return NoiseSchedule(
        cumulative(1.0, config.get("alpha_cum_start", 0.99999), config.get("alpha_cum_end", 0.000009)),
        cumulative(0.0, config.get("gamma_cum_start", 0.000009), config.get("gamma_cum_end", 0.99999)),
        num_codes=int(config["num_vec_classes"]) - 1,
    )


NOMINAL_STEPS = 1000
"""Levels of a masked model that knows no time: any number of steps up to this one is as good."""


def cosine_mask_schedule(steps: int, num_codes: int) -> NoiseSchedule:
    """The mask-only schedule of masked generative models: a share cos(pi/2 * (1 - n/T)) is masked at level n."""
    return _mask_schedule([math.cos(math.pi / 2 * (1 - n / steps)) for n in range(steps + 1)], num_codes)


def linear_mask_schedule(steps: int, num_codes: int) -> NoiseSchedule:
    """A share n/T is masked at level n."""
    return _mask_schedule([n / steps for n in range(steps + 1)], num_codes)


def _mask_schedule(shares: list[float], num_codes: int) -> NoiseSchedule:
    share = torch.tensor(shares, dtype=torch.float64)
    share[0], share[-1] = 0.0, 1.0
    return NoiseSchedule(1 - share, share, num_codes)


MASK_SCHEDULES = {"cosine": cosine_mask_schedule, "linear": linear_mask_schedule}
"""By the name that diffusers' `AmusedScheduler` has for each."""
