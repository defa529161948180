"""Gaussian blur with reflect padding (the edge pixel is not repeated)."""

import torch
from pydantic import Field, field_validator
from torch import Tensor

from operators.base import OperatorSettings, Shape
from operators.errors import InputError
from operators.padding import fold, reflect_index
from operators.separable import SeparableOperator


class GaussianBlurSettings(OperatorSettings):
    """A Gaussian cut at four standard deviations or at the kernel's edge, whichever comes first."""

    kernel_size: int = Field(default=61, ge=1)
    """Side of the kernel in pixels, odd. Beyond 4 * std its entries are zero."""

    std: float = Field(default=3.0, gt=0)
    """Standard deviation in pixels."""

    @field_validator("kernel_size")
    @classmethod
    def _odd(cls, value: int) -> int:
        if value % 2 == 0:
            raise ValueError("must be odd")
        return value

    @property
    def radius(self) -> int:
        """Non-zero taps on each side of the centre."""
        half = self.kernel_size // 2
        return min(half, int(4 * min(self.std, half) + 0.5))


class GaussianBlur(SeparableOperator):
    """Equals scipy's gaussian_filter in mirror mode wherever kernel_size does not cut the kernel."""

    name = "gaussian_blur"
    settings_model = GaussianBlurSettings

    def __init__(self, settings: GaussianBlurSettings, x_shape: Shape) -> None:
        _, height, width = x_shape
        if settings.radius >= min(height, width):
            raise InputError(
                f"gaussian_blur: kernel_size {settings.kernel_size} with std {settings.std} reaches "
                f"{settings.radius} pixels beyond the edge: reflect padding of a {width}x{height} image "
                f"allows at most {min(height, width) - 1}."
            )
        taps = gaussian_taps(settings.radius, settings.std)
        super().__init__(settings, x_shape, blur_matrix(height, taps), blur_matrix(width, taps))


def gaussian_taps(radius: int, std: float) -> Tensor:
    """(2 * radius + 1,) weights that sum to one.

    They are normalised after the kernel is cut, so that a blur keeps the brightness of a constant image
    whatever kernel_size is; without that a small kernel would also darken.
    """
    k = torch.arange(-radius, radius + 1, dtype=torch.float64)
    weights = torch.exp(-0.5 * (k / std) ** 2)
    return weights / weights.sum()


def blur_matrix(size: int, taps: Tensor) -> Tensor:
    """(size, size): convolution with symmetric taps, reflect padding folded in."""
    reach = len(taps) // 2
    banded = torch.zeros(size, size + 2 * reach, dtype=taps.dtype)
    for offset, tap in enumerate(taps):
        banded.diagonal(offset).fill_(tap)
    return fold(banded, reflect_index(size, reach), size, dim=1)
