"""Peak signal-to-noise ratio, of the values themselves and of the bytes a picture file holds."""

from typing import ClassVar

from torch import Tensor

from eval.metrics.base import RowMetric, Scored


class Psnr(RowMetric):
    """-10 log10 of the mean squared error with peak 1; infinite for identical images."""

    name = "psnr"
    direction = "higher"
    unit = "dB"
    summary = "peak signal-to-noise ratio on [0, 1] with peak 1"
    digits = 2
    tolerance: ClassVar[float | None] = 0.1
    signals = ("image",)

    def rows(self, truth: Tensor, x: Tensor, scored: Scored) -> Tensor:
        error = self.unit_range(truth) - self.unit_range(x)
        return -10 * error.square().flatten(1).mean(1).log10()

    def unit_range(self, images: Tensor) -> Tensor:
        """[-1, 1] to [0, 1]."""
        return (images.double() + 1) / 2


class Psnr8Bit(Psnr):
    """PSNR of what a PNG file would hold."""

    name = "psnr_8bit"
    summary = "peak signal-to-noise ratio after rounding to bytes"
    tolerance = None

    def unit_range(self, images: Tensor) -> Tensor:
        # in float32, as pictures are written: float64 would round a few halves the other way
        return images.float().add(1).mul(127.5).round().double() / 255
