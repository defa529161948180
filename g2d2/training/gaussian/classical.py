"""Denoisers without a network, to hold a trained one against: total variation and, where installed, BM3D."""

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

Denoiser = Callable[[Tensor, Tensor, float], Tensor]
"""(noisy, truth, sigma) -> estimates, all (N, 3, H, W) in [-1, 1]; the truth is for choosing settings only."""

_TV_WEIGHTS = tuple(float(weight) for weight in np.geomspace(0.02, 1.5, 14))


def classical_denoisers() -> dict[str, Denoiser]:
    """The denoisers whose packages are installed: scikit-image for `tv`, bm3d for `bm3d`; neither is required."""
    known = {"tv": ("skimage.restoration", _total_variation), "bm3d": ("bm3d", _bm3d)}
    present: dict[str, Denoiser] = {}
    for name, (package, build) in known.items():
        try:
            present[name] = build(importlib.import_module(package))
        except ImportError:
            continue
    return present


def _total_variation(restoration: Any) -> Denoiser:
    """Chambolle's total-variation denoising at the weight that is best for each image: an upper bound of the method."""

    def denoise(noisy: Tensor, truth: Tensor, sigma: float) -> Tensor:
        best = []
        for observed, image in zip(_channels_last(noisy), _channels_last(truth), strict=True):
            tried = [restoration.denoise_tv_chambolle(observed, weight=w, channel_axis=-1) for w in _TV_WEIGHTS]
            errors = [np.square(np.clip(estimate, 0, 1) - image).mean() for estimate in tried]
            best.append(tried[int(np.argmin(errors))])
        return _channels_first(best)

    return denoise


def _bm3d(package: Any) -> Denoiser:
    """BM3D for colour images, told the true noise level."""

    def denoise(noisy: Tensor, truth: Tensor, sigma: float) -> Tensor:
        return _channels_first([package.bm3d_rgb(image, sigma / 2) for image in _channels_last(noisy)])

    return denoise


def _channels_last(images: Tensor) -> list[Any]:
    """Images in [-1, 1] as arrays (H, W, 3) in [0, 1], noise beyond it included."""
    return list((images.cpu().permute(0, 2, 3, 1).double() / 2 + 0.5).numpy())


def _channels_first(arrays: list[Any]) -> Tensor:
    """Arrays (H, W, 3) in [0, 1] as images in [-1, 1]."""
    return torch.from_numpy(np.stack(arrays)).permute(0, 3, 1, 2).float() * 2 - 1
