"""Super-resolution: y is the image made smaller by an antialiased bicubic resizer."""

import torch
from pydantic import Field
from torch import Tensor

from operators.base import OperatorSettings, Shape
from operators.errors import InputError
from operators.padding import fold, symmetric_index
from operators.separable import SeparableOperator


class SuperResolutionSettings(OperatorSettings):
    """How much smaller y is than the image."""

    factor: int = Field(default=4, ge=1)
    """Pixels of the image per pixel of y, along each axis; must divide both sides."""


class SuperResolution(SeparableOperator):
    """Bicubic downsampling with a = -0.5 and symmetric padding; 256 -> 64 equals DDRM's `sr_bicubic4`."""

    name = "super_resolution"
    settings_model = SuperResolutionSettings

    def __init__(self, settings: SuperResolutionSettings, x_shape: Shape) -> None:
        _, height, width = x_shape
        factor = settings.factor
        if height % factor or width % factor:
            raise InputError(
                f"super_resolution: factor is {factor}: it must divide both sides of the {width}x{height} image."
            )
        super().__init__(settings, x_shape, bicubic_matrix(height, factor), bicubic_matrix(width, factor))


def bicubic_matrix(size: int, factor: int) -> Tensor:
    """(size / factor, size): each row is the cubic kernel stretched to 4 * factor taps, summing to one."""
    reach = 2 * factor
    pixel = torch.arange(-reach, size + reach, dtype=torch.float64) + 0.5
    centre = (torch.arange(size // factor, dtype=torch.float64) + 0.5) * factor
    weights = cubic((pixel - centre[:, None]) / factor)
    weights /= weights.sum(1, keepdim=True)
    return fold(weights, symmetric_index(size, reach), size, dim=1)


def cubic(distance: Tensor, a: float = -0.5) -> Tensor:
    """Keys' cubic convolution kernel, zero beyond a distance of 2."""
    d = distance.abs()
    near = (a + 2) * d**3 - (a + 3) * d**2 + 1
    far = a * (d**3 - 5 * d**2 + 8 * d - 4)
    return torch.where(d <= 1, near, torch.where(d < 2, far, 0.0))
