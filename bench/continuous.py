"""Seconds and peak memory per image of methods on a pixel diffusion prior, beside deepinv's same methods.

Both sides take the same random UNet, operator, measurements and number of steps, in turns on one machine; methods that
deepinv does not have are measured alone. Weights do not change the cost. Without deepinv only our own side is measured.
"""

import argparse
import json
import statistics
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

import g2d2  # noqa: F401  (its import makes torchvision importable, before diffusers and deepinv need it)
from bench import deepinv_methods
from bench.memory import measured_by, peak_mib
from bench.registry import Effort, Ratio, stands_for
from bench.timing import median_ratio, take_turns
from g2d2.diffusion_steps import visited_levels
from g2d2.methods import find_method
from g2d2.priors.base import Diffusion
from g2d2.priors.gaussian_noise import GaussianNoise
from g2d2.priors.random_unets import random_unet
from g2d2.priors.unet_prior import UNetPrior
from operators import Spectral, build_operator

OURS, DEEPINV = "ours", "deepinv"
SIGMA, FACTOR = 0.05, 4

METHODS: dict[str, dict[str, Any]] = {
    "dps": {"zeta": 1.0},
    "ddrm": {},
    "diffpir": {},
    "pigdm": {},
    "daps": {"ode_steps": 5, "iterations": 100},
}
SHARED = ("dps", "ddrm", "diffpir")
"""Those that deepinv has too, with the same network calls per step."""

_SIDES = {"tiny": 8, "cifar10": 32}
_STEPS = {"tiny": 2, "cifar10": 10}
_PLANS = {
    "quick": ("tiny", (1, 2), 1),
    "normal": ("cifar10", (1, 16), 2),
    "full": ("cifar10", (1, 16), 3),
}

Solve = Callable[[int], None]


@stands_for(
    Ratio(
        "dps: an image alone by one of 16",
        "gain_of_batching",
        1.3,
        unit="times",
        where={"method": "dps", "batch": 16},
    ),
    Ratio("deepinv's seconds by ours, least", "times_faster", 0.9, unit="times", over="lowest"),
)
def run(effort: Effort) -> list[dict[str, Any]]:
    """One row per method and batch size."""
    shape, batches, rounds = _PLANS[effort.level]
    both = deepinv_methods.available()
    if not both:
        print("deepinv is not installed: its side of the table stays empty; `pip install deepinv` adds it.")
    return [row for method in METHODS for row in _compare(method, shape, batches, rounds, both, effort)]


def _compare(
    method: str, shape: str, batches: tuple[int, ...], rounds: int, both: bool, effort: Effort
) -> list[dict[str, Any]]:
    sides = {OURS: build_ours(method, shape)}
    if both and method in SHARED:
        sides[DEEPINV] = build_deepinv(method, shape)
    calls = {(side, batch): partial(solve, batch) for side, solve in sides.items() for batch in batches}
    named = {f"{side} {batch}": call for (side, batch), call in calls.items()}
    seconds = {name: [] for name in named} | take_turns(named, rounds)
    return [
        {
            "method": method,
            "shape": shape,
            "steps": _STEPS[shape],
            "batch": batch,
            "ours_s_per_image": statistics.median(seconds[f"{OURS} {batch}"]) / batch,
            "deepinv_s_per_image": _per_image(seconds.get(f"{DEEPINV} {batch}"), batch),
            "times_faster": _faster(seconds.get(f"{DEEPINV} {batch}"), seconds[f"{OURS} {batch}"]),
            "gain_of_batching": _gain(seconds, batches[0], batch),
            "ours_mib_per_image": _peak(method, OURS, batch, effort),
            "deepinv_mib_per_image": _peak(method, DEEPINV, batch, effort) if DEEPINV in sides else None,
        }
        for batch in batches
    ]


def _per_image(seconds: list[float] | None, batch: int) -> float | None:
    return statistics.median(seconds) / batch if seconds else None


def _faster(slow: list[float] | None, fast: list[float]) -> float | None:
    return median_ratio(slow, fast) if slow else None


def _gain(seconds: dict[str, list[float]], one: int, batch: int) -> float:
    """How much less an image costs in a batch of ours than alone."""
    alone, together = seconds[f"{OURS} {one}"], seconds[f"{OURS} {batch}"]
    return median_ratio([whole / one for whole in alone], [whole / batch for whole in together])


def _peak(method: str, side: str, batch: int, effort: Effort) -> float | None:
    shape, batches, _ = _PLANS[effort.level]
    if effort.level == "quick" or (effort.level == "normal" and batch != max(batches)):
        return None  # a process of its own takes longer to start than the solve
    numbers = measured_by("bench.continuous", method, side, shape, str(batch), str(effort.threads))
    return numbers and numbers["peak_mib"] / batch


def build_ours(method: str, shape: str) -> Solve:
    """Networks, operator and measurements are made here, so that a call holds the solve alone."""
    prior, operator, y = problem(shape)
    chosen = find_method(method)
    settings = chosen.settings(steps=_STEPS[shape], **METHODS[method])

    def solve(batch: int) -> None:
        chosen.run(prior, operator, y[:batch], settings, seeds=range(batch), sigma=SIGMA)

    return solve


def build_deepinv(method: str, shape: str) -> Solve:
    """The same problem for deepinv's method of that name."""
    prior, operator, y = problem(shape)
    steps = _STEPS[shape]
    levels = visited_levels(len(prior.alpha_bar), steps)
    if method == "dps":
        times = [(t + 1) / len(prior.alpha_bar) for t in levels]
        restore, _ = deepinv_methods.dps(prior, operator, levels, times, 1.0, corrected=False)
    elif method == "ddrm":
        restore = deepinv_methods.ddrm(prior, operator, SIGMA, levels, 0.85, 1.0)
    else:
        restore = deepinv_methods.diffpir(prior, operator, SIGMA, steps, 1.0, 0.25)

    def solve(batch: int) -> None:
        with torch.random.fork_rng(devices=[]):
            restore(y[:batch])

    return solve


def problem(shape: str) -> tuple[Diffusion, Spectral, Tensor]:
    """A UNet with random weights (2.5 million for 32x32), super-resolution, and measurements of noise."""
    side = _SIDES[shape]
    changes: dict[str, Any] = {}
    if shape == "cifar10":
        changes = {
            "block_out_channels": (48, 96, 96),
            "down_block_types": ("DownBlock2D", "DownBlock2D", "AttnDownBlock2D"),
            "up_block_types": ("AttnUpBlock2D", "UpBlock2D", "UpBlock2D"),
            "norm_num_groups": 8,
        }
    alpha_bar = (1 - torch.linspace(1e-4, 0.02, 1000, dtype=torch.float64)).cumprod(0)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        unet = random_unet(side=side, **changes)
        y = torch.randn(16, 3, side // FACTOR, side // FACTOR)
    operator = build_operator("super_resolution", {"factor": FACTOR}, x_shape=(3, side, side))
    assert isinstance(operator, Spectral)
    # it predicts the clean image, so that guesses stay bounded without training
    return UNetPrior(unet, GaussianNoise(alpha_bar, "sample")), operator.to(dtype=torch.float32), y


def main() -> None:
    """Print the peak memory of one solve."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    for name in ("method", "side", "shape"):
        parser.add_argument(name)
    parser.add_argument("batch", type=int)
    parser.add_argument("threads", type=int)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    solve = (build_ours if given.side == OURS else build_deepinv)(given.method, given.shape)
    solve(1)  # loads what is loaded once
    print(json.dumps({"peak_mib": peak_mib(lambda: solve(given.batch))}))


if __name__ == "__main__":
    main()
