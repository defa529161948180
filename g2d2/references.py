"""Simple methods to hold a solver against: no prior, no draws. They have the signature of `g2d2.solver.solve`."""

import time
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from g2d2.priors.base import Prior
from g2d2.solver import Reconstruction
from g2d2.trace import Trace, peak_bytes
from operators import Operator

NOISE_TO_SIGNAL = 0.02
"""Noise variance over image variance in the Wiener filter: 0.05^2 against about 0.35^2 for photographs on [-1, 1]."""


def wiener(prior: Prior, operator: Operator, y: Tensor, settings: Any, **_: Any) -> Reconstruction:
    """The linear estimate V s / (s^2 + r) U^T y around grey, for operators with a singular value decomposition."""
    started = time.perf_counter()
    svd = operator.svd().to(y.device, torch.float64)
    s = svd.singular_values
    coefficients = svd.Ut(y.double()) * s / (s.square() + NOISE_TO_SIGNAL)
    return reconstruction(prior, svd.V(svd.embed(coefficients)), started)


def bicubic(prior: Prior, operator: Operator, y: Tensor, settings: Any, **_: Any) -> Reconstruction:
    """The measurement enlarged to the image's size."""
    started = time.perf_counter()
    images = F.interpolate(y.double(), size=operator.image_shape[1:], mode="bicubic", align_corners=False)
    return reconstruction(prior, images, started)


def reconstruction(prior: Prior, images: Tensor, started: float) -> Reconstruction:
    """Images of a method without tokens or losses, with the seconds since `started` (`time.perf_counter()`)."""
    nothing = torch.zeros(len(images), 1, 1)
    seconds = time.perf_counter() - started
    trace = Trace([1], nothing, nothing, nothing, nothing[:, 0], nothing[:, 0], {}, seconds, peak_bytes(prior.device))
    return Reconstruction(images.clamp(-1, 1).float(), torch.zeros(len(images), 0, dtype=torch.int64), trace)
