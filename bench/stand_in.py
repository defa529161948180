"""Solvers that measure the pipeline instead of the method: one returns at once, one only takes its time."""

import os
import time
from typing import Any

import torch
from torch import Tensor

from g2d2.priors import Prior
from g2d2.references import reconstruction
from g2d2.solver import Reconstruction, solve
from operators import Operator

SECONDS = "G2D2_STAND_IN_SECONDS"


def instant(prior: Prior, operator: Operator, y: Tensor, settings: Any, *, seeds: Any, **_: Any) -> Reconstruction:
    """Flat grey images whose value follows from the seed; nothing is computed."""
    return _grey(prior, y, seeds, time.perf_counter())


def _grey(prior: Prior, y: Tensor, seeds: Any, started: float) -> Reconstruction:
    levels = torch.tensor([seed % 255 for seed in seeds], dtype=torch.float32) / 127.5 - 1
    return reconstruction(prior, levels.view(-1, 1, 1, 1).expand(len(y), *prior.image_shape), started)


def paced(*args: Any, **options: Any) -> Reconstruction:
    """The real solver after a pause, so that there is time to break something."""
    time.sleep(float(os.environ.get(SECONDS, "0.5")))
    return solve(*args, **options)


def fixed_latency(
    prior: Prior, operator: Operator, y: Tensor, settings: Any, *, seeds: Any, **_: Any
) -> Reconstruction:
    """A device that takes the same time for every batch, and computes nothing."""
    started = time.perf_counter()
    time.sleep(float(os.environ.get(SECONDS, "0.5")))
    return _grey(prior, y, seeds, started)
