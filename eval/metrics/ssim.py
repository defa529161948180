"""Structural similarity (Wang et al. 2004), batched, in float64."""

from typing import Literal

import torch
from torch import Tensor

from eval.metrics.base import MetricSettings, RowMetric, Scored, row_chunks
from operators import InputError

_CHUNK = 2**18
_C1, _C2 = 0.01**2, 0.03**2  # K1, K2 of the paper on a data range of 1


class SsimSettings(MetricSettings):
    """Which window weighs a pixel's neighbours."""

    window: Literal["gaussian", "uniform"] = "gaussian"
    """`gaussian`: 11x11 with standard deviation 1.5, as published. `uniform`: 7x7 with sample covariances, the
    defaults of scikit-image."""


class Ssim(RowMetric):
    """Mean over channels and over every position where the window lies inside the image."""

    name = "ssim"
    direction = "higher"
    summary = "structural similarity, 11x11 Gaussian window"
    tolerance = 0.005
    signals = ("image",)
    least_side = 11
    Settings = SsimSettings

    def __init__(self, settings: SsimSettings, device: torch.device) -> None:
        super().__init__(settings, device)
        if settings.window == "gaussian":
            offsets = torch.arange(-5, 6, dtype=torch.float64)
            self.taps = torch.softmax(-offsets.square() / (2 * 1.5**2), 0)
            self.covariance_scale = 1.0
        else:
            self.taps = torch.full((7,), 1 / 7, dtype=torch.float64)
            self.covariance_scale = 49 / 48

    def rows(self, truth: Tensor, x: Tensor, scored: Scored) -> Tensor:
        side = len(self.taps)
        height, width = truth.shape[-2:]
        if min(height, width) < side:
            raise InputError(f"{self.name}: images are {width}x{height}: they must be at least {side}x{side}.")
        windows = self._window_matrix(height).to(self.device), self._window_matrix(width).to(self.device)
        return torch.cat([self._similarity(truth[part], x[part], windows) for part in row_chunks(truth, _CHUNK)])

    def _similarity(self, truth: Tensor, images: Tensor, windows: tuple[Tensor, Tensor]) -> Tensor:
        x, y = (truth.double() + 1) / 2, (images.double() + 1) / 2
        down, across = windows
        moments = down @ torch.stack((x, y, x * x, y * y, x * y)) @ across.T  # (5, B, C, H', W')
        mean_x, mean_y, xx, yy, xy = moments
        var_x, var_y = xx - mean_x.square(), yy - mean_y.square()
        covariance = xy - mean_x * mean_y
        scale = self.covariance_scale
        luminance = (2 * mean_x * mean_y + _C1) / (mean_x.square() + mean_y.square() + _C1)
        structure = (2 * scale * covariance + _C2) / (scale * (var_x + var_y) + _C2)
        similarity: Tensor = (luminance * structure).flatten(1).mean(1)
        return similarity

    def _window_matrix(self, length: int) -> Tensor:
        """(length - taps + 1, length): one axis of the window as a matrix, in float64 far faster than convolving."""
        positions = length - len(self.taps) + 1
        matrix = torch.zeros(positions, length, dtype=torch.float64)
        for offset, tap in enumerate(self.taps):
            matrix.diagonal(offset).fill_(tap)
        return matrix
