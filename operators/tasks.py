"""The paper's two inverse problems as presets, at 256x256 and scaled for 32x32.

Super-resolution keeps its factor, so 8x8 pixels remain. The blur does not scale with the side: std 3 / 8 acts
on less than a pixel and changes almost nothing (47 dB between a photograph and its blurred self). Std 1 does
about as much damage (26 dB) as std 3 at 256x256 (24 dB), and four standard deviations fill exactly 9 taps.
"""

from types import MappingProxyType
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from operators.registry import build_operator

if TYPE_CHECKING:
    from operators.base import Operator


class Task(BaseModel):
    """An operator with its parameters, the noise level and the image size it is meant for."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    name: str
    operator: str
    """Registry name."""

    params: dict[str, int | float]
    """Settings of the operator."""

    sigma: float
    """Standard deviation of the noise, on images in [-1, 1]."""

    image_size: int
    """Height and width in pixels."""

    def build(self, channels: int = 3) -> "Operator":
        """The operator for images of this task's size."""
        return build_operator(self.operator, self.params, image_shape=(channels, self.image_size, self.image_size))


def _tasks() -> dict[str, Task]:
    tasks = (
        Task(name="sr4-256", operator="super_resolution", params={"factor": 4}, sigma=0.05, image_size=256),
        Task(
            name="gaussian-deblur-256",
            operator="gaussian_blur",
            params={"kernel_size": 61, "std": 3.0},
            sigma=0.05,
            image_size=256,
        ),
        Task(name="sr4-32", operator="super_resolution", params={"factor": 4}, sigma=0.05, image_size=32),
        Task(
            name="gaussian-deblur-32",
            operator="gaussian_blur",
            params={"kernel_size": 9, "std": 1.0},
            sigma=0.05,
            image_size=32,
        ),
    )
    return {task.name: task for task in tasks}


TASKS = MappingProxyType(_tasks())
