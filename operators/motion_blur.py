"""Motion blur along a straight line, with reflect padding (the edge pixel is not repeated)."""

import math
from collections.abc import Sequence

import torch
from pydantic import Field, field_validator
from torch import Tensor
from torch.nn import functional as F

from operators.base import Linear, OperatorSettings, Shape
from operators.errors import InputError
from operators.padding import fold, reflect_index


class MotionBlurSettings(OperatorSettings):
    """The path of the camera: a line through the centre of the kernel."""

    kernel_size: int = Field(default=15, ge=1)
    """Length of the path in pixels and side of the kernel, odd."""

    angle: float = 45.0
    """Direction in degrees, counter-clockwise from horizontal."""

    @field_validator("kernel_size")
    @classmethod
    def _odd(cls, value: int) -> int:
        if value % 2 == 0:
            raise ValueError("must be odd")
        return value


class MotionBlur(Linear):
    """Convolution with a line, through the FFT: its cost does not grow with the kernel."""

    name = "motion_blur"
    settings_model = MotionBlurSettings

    kernel: Tensor  # (R, 1, k, k)

    def __init__(self, settings: MotionBlurSettings, x_shape: Shape) -> None:
        _, height, width = x_shape
        reach = settings.kernel_size // 2
        if reach >= min(height, width):
            raise InputError(
                f"motion_blur: kernel_size {settings.kernel_size} reaches {reach} pixels beyond the edge: "
                f"reflect padding of a {width}x{height} image allows kernel_size up to "
                f"{2 * min(height, width) - 1}."
            )
        super().__init__(settings, x_shape)
        self.register_buffer("kernel", line_kernel(settings.kernel_size, settings.angle)[None, None], persistent=False)

    def _apply_forward(self, x: Tensor) -> Tensor:
        reach = self._reach
        padded = F.pad(_fft_dtype(x), (reach,) * 4, mode="reflect")
        spectrum = torch.fft.rfft2(padded) * self._transfer(padded).conj()
        blurred = torch.fft.irfft2(spectrum, s=self._padded_size)
        cropped: Tensor = blurred[..., : x.shape[-2], : x.shape[-1]]
        return cropped.to(x.dtype)

    def _apply_adjoint(self, y: Tensor) -> Tensor:
        work = _fft_dtype(y)
        spectrum = torch.fft.rfft2(work, s=self._padded_size) * self._transfer(work)
        spread: Tensor = torch.fft.irfft2(spectrum, s=self._padded_size)
        for dim, size in ((-2, y.shape[-2]), (-1, y.shape[-1])):
            spread = fold(spread, reflect_index(size, self._reach), size, dim)
        return spread.to(y.dtype)

    @property
    def _reach(self) -> int:
        return self.kernel.shape[-1] // 2

    @property
    def _padded_size(self) -> tuple[int, int]:
        return self.x_shape[1] + 2 * self._reach, self.x_shape[2] + 2 * self._reach

    def _transfer(self, like: Tensor) -> Tensor:
        # Kept as a real kernel and transformed at each use: a complex buffer would not survive `.to(dtype)`.
        transfer: Tensor = torch.fft.rfft2(self.kernel.to(like), s=self._padded_size)
        return transfer

    def _stack_buffer(self, buffers: Sequence[Tensor]) -> Tensor:
        # Zeros around a smaller kernel change nothing, so rows may have different kernel sizes.
        largest = max(buffer.shape[-1] for buffer in buffers)
        return torch.cat([F.pad(buffer, ((largest - buffer.shape[-1]) // 2,) * 4) for buffer in buffers])


def line_kernel(kernel_size: int, angle: float) -> Tensor:
    """(k, k) weights that sum to one: points one pixel apart on the line, shared by their four neighbours."""
    reach = kernel_size // 2
    distance = torch.arange(-reach, reach + 1, dtype=torch.float64)
    # The sine and cosine of a right angle are not exactly 0; unrounded, a vertical line would leak sideways.
    column = (reach + distance * round(math.cos(math.radians(angle)), 12)).clamp(0, kernel_size - 1)
    row = (reach - distance * round(math.sin(math.radians(angle)), 12)).clamp(0, kernel_size - 1)
    grid = torch.arange(kernel_size, dtype=torch.float64)
    near_row = (1 - (row[:, None] - grid).abs()).clamp(min=0)  # (points, k)
    near_column = (1 - (column[:, None] - grid).abs()).clamp(min=0)
    return near_row.T @ near_column / kernel_size


def _fft_dtype(x: Tensor) -> Tensor:
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
