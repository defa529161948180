"""Peak signal-to-noise ratio, of the values themselves and of the bytes a picture file holds."""

import torch
from torch import Tensor

from eval.metrics.base import MetricSettings, RowMetric, Scored
from eval.metrics.registry import MetricInfo, register_metric


class PsnrSettings(MetricSettings):
    """PSNR has no settings."""


class Psnr(RowMetric):
    """-10 log10 of the mean squared error with peak 1; infinite for identical images."""

    def __init__(self, info: MetricInfo, settings: PsnrSettings, device: torch.device) -> None:
        super().__init__(info.name, info.direction, info.unit, device)

    def rows(self, truth: Tensor, images: Tensor, scored: Scored) -> Tensor:
        error = self.unit_range(truth) - self.unit_range(images)
        return -10 * error.square().flatten(1).mean(1).log10()

    def unit_range(self, images: Tensor) -> Tensor:
        """[-1, 1] to [0, 1]."""
        return (images.double() + 1) / 2


class Psnr8Bit(Psnr):
    """PSNR of what a PNG file would hold."""

    def unit_range(self, images: Tensor) -> Tensor:
        # in float32, as pictures are written: float64 would round a few halves the other way
        return images.float().add(1).mul(127.5).round().double() / 255


register_metric(
    MetricInfo("psnr", "higher", "dB", "peak signal-to-noise ratio on [0, 1] with peak 1"), PsnrSettings, Psnr
)
register_metric(
    MetricInfo("psnr_8bit", "higher", "dB", "peak signal-to-noise ratio after rounding to bytes"),
    PsnrSettings,
    Psnr8Bit,
)
