"""The noise a Gaussian diffusion was trained with, from its scheduler's configuration. Imports no model library."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from g2d2.priors.base import Denoised
from g2d2.priors.json_files import read_json
from operators.errors import InputError
from operators.validation import did_you_mean, shorten

SCHEDULERS = (
    "DDPMScheduler",
    "DDIMScheduler",
    "PNDMScheduler",
    "LMSDiscreteScheduler",
    "EulerDiscreteScheduler",
    "EulerAncestralDiscreteScheduler",
    "DPMSolverMultistepScheduler",
    "DPMSolverSinglestepScheduler",
    "DEISMultistepScheduler",
    "UniPCMultistepScheduler",
)
"""Schedulers of diffusers whose settings of the noise mean the same, defaults included; how each samples does not
matter here."""

PREDICTIONS = ("epsilon", "v_prediction", "sample")
LEARNED = ("learned", "learned_range")
FIXED = ("fixed_small", "fixed_small_log", "fixed_large", "fixed_large_log")

_LEAST_VARIANCE = 1e-20
_MOST_STEPS = 100_000


@dataclass(frozen=True)
class GaussianNoise:
    """The schedule, and what the network says of it."""

    alpha_bar: Tensor  # (T,), float64 on the CPU
    prediction: str = "epsilon"
    """What the network predicts, one of `PREDICTIONS`."""
    variance: str = "fixed_small"
    """One of `LEARNED`, where half of the network's channels are about it, or of `FIXED`."""

    @property
    def learned(self) -> bool:
        """Whether the network has twice the channels, the second half for the variance."""
        return self.variance in LEARNED

    def denoised(self, output: Tensor, z_t: Tensor, t: int) -> Denoised:
        """What the network's output says of z_t."""
        signal, noise = float(self.alpha_bar[t]) ** 0.5, float(1 - self.alpha_bar[t]) ** 0.5
        log_variance = None
        if self.learned:
            output, spread = output.chunk(2, dim=1)
            log_variance = self._log_variance(spread, t)
        if self.prediction == "epsilon":
            x0, eps = (z_t - noise * output) / signal, output
        elif self.prediction == "v_prediction":
            x0, eps = signal * z_t - noise * output, noise * z_t + signal * output
        else:
            x0, eps = output, (z_t - signal * output) / noise
        return Denoised(x0, eps, log_variance)

    def _log_variance(self, spread: Tensor, t: int) -> Tensor:
        if self.variance == "learned":  # diffusers has the variance itself here
            return spread.clamp(min=_LEAST_VARIANCE).log()
        low, high = self.log_variance_range(t)
        share = (spread + 1) / 2
        return share * high + (1 - share) * low

    def log_variance_range(self, t: int) -> tuple[float, float]:
        """Log-variances of the step t -> t-1 between which `learned_range` mixes: the posterior's and beta's."""
        t = max(t, min(1, len(self.alpha_bar) - 1))  # step 0 has a posterior without variance, and adds no noise
        now, before = self.alpha_bar[t], self.alpha_bar[t - 1] if t else torch.ones((), dtype=torch.float64)
        beta = 1 - now / before
        posterior = (beta * (1 - before) / (1 - now)).clamp(min=_LEAST_VARIANCE)
        return float(posterior.log()), float(beta.log())


def read_noise(path: Path) -> GaussianNoise:
    """The noise that a `scheduler_config.json` describes; what it leaves out is as diffusers has it."""
    config = read_json(path)

    def choose(key: str, default: str, allowed: tuple[str, ...]) -> str:
        value = config.get(key)
        if value is None:
            return default
        if value not in allowed:
            hint = did_you_mean(str(value), allowed)
            raise InputError(f"prior: {path} has {key} {shorten(value)}{hint}; known are {', '.join(allowed)}.")
        return str(value)

    choose("_class_name", SCHEDULERS[0], SCHEDULERS)
    prediction = choose("prediction_type", "epsilon", PREDICTIONS)
    variance = choose("variance_type", FIXED[0], FIXED + LEARNED)
    betas = _betas(config, choose("beta_schedule", "linear", tuple(_SCHEDULES)), path)
    if not bool(((betas > 0) & (betas < 1)).all()):
        raise InputError(
            f"prior: {path} describes betas from {betas.min():g} to {betas.max():g}; each must be in (0, 1)."
        )
    alpha_bar = (1 - betas).cumprod(0)
    if config.get("rescale_betas_zero_snr"):
        alpha_bar = _without_last_signal(alpha_bar)
    if prediction == "epsilon" and float(alpha_bar[-1]) == 0:
        raise InputError(
            f"prior: {path} has rescale_betas_zero_snr, and its last level has no signal left to divide by; this needs "
            "prediction_type v_prediction or sample."
        )
    return GaussianNoise(alpha_bar, prediction, variance)


def _betas(config: Mapping[str, Any], schedule: str, path: Path) -> Tensor:
    """(T,)"""

    def number(key: str, default: float) -> float:
        value = config.get(key, default)
        if not isinstance(value, int | float):
            raise InputError(f"prior: {path} has {key} {shorten(value)}: it must be a number.")
        return value

    steps = number("num_train_timesteps", 1000)
    if not isinstance(steps, int) or isinstance(steps, bool) or not 1 <= steps <= _MOST_STEPS:
        raise InputError(
            f"prior: {path} has num_train_timesteps {shorten(steps)}: it must be a whole number up to {_MOST_STEPS}."
        )
    trained = config.get("trained_betas")
    if trained is None:
        return _SCHEDULES[schedule](number("beta_start", 1e-4), number("beta_end", 0.02), steps)
    if not isinstance(trained, list) or len(trained) != steps or not all(isinstance(b, int | float) for b in trained):
        raise InputError(f"prior: {path} has trained_betas that are not {steps} numbers, one per training step.")
    return torch.tensor(trained, dtype=torch.float64)


def _linear(start: float, end: float, steps: int) -> Tensor:
    return torch.linspace(start, end, steps, dtype=torch.float64)


def _scaled_linear(start: float, end: float, steps: int) -> Tensor:
    return _linear(start**0.5, end**0.5, steps) ** 2


def _squared_cosine(start: float, end: float, steps: int) -> Tensor:
    share = torch.arange(steps + 1, dtype=torch.float64) / steps
    alpha_bar = ((share + 0.008) / 1.008 * torch.pi / 2).cos() ** 2
    return (1 - alpha_bar[1:] / alpha_bar[:-1]).clamp(max=0.999)


def _sigmoid(start: float, end: float, steps: int) -> Tensor:
    return _linear(-6, 6, steps).sigmoid() * (end - start) + start


_SCHEDULES: dict[str, Callable[[float, float, int], Tensor]] = {
    "linear": _linear,
    "scaled_linear": _scaled_linear,
    "squaredcos_cap_v2": _squared_cosine,
    "sigmoid": _sigmoid,
}


def _without_last_signal(alpha_bar: Tensor) -> Tensor:
    """Signals shifted until the last is zero, and stretched so that the first stays (Lin et al., arXiv 2305.08891)."""
    signal = alpha_bar.sqrt()
    return ((signal - signal[-1]) * signal[0] / (signal[0] - signal[-1])) ** 2
