"""The paper's two inverse problems and inpainting as presets, at 256x256 and scaled for 32x32.

Super-resolution keeps its factor, so 8x8 pixels remain. The blur does not scale with the side: std 3 / 8 acts
on less than a pixel and changes almost nothing (47 dB between a photograph and its blurred self). Std 1 does
about as much damage (26 dB) as std 3 at 256x256 (24 dB), and four standard deviations fill exactly 9 taps.
Inpainting is not in the paper. The missing box scales with the side; randomly kept pixels stay the same share.
"""

from types import MappingProxyType
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from operators.registry import build_operator

if TYPE_CHECKING:
    from operators.base import Operator


LARGEST_SIGMA = 1e30
"""Noise above this could leave the range of float32, in which measurements are stored."""


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

    own_seed: bool = False
    """Whether every picture gets a `seed` of its own among the settings, so that no two lack the same pixels."""

    def build(self, channels: int = 3, seed: int = 0) -> "Operator":
        """The operator for images of this task's size; `seed` is the picture's, where the task draws anything."""
        drawn = {"seed": seed} if self.own_seed else {}
        shape = (channels, self.image_size, self.image_size)
        return build_operator(self.operator, self.params | drawn, x_shape=shape)


_SIGMA = 0.05
_KEPT = 0.3

_CHOICES: dict[int, dict[str, tuple[str, dict[str, int | float]]]] = {
    256: {
        "sr4": ("super_resolution", {"factor": 4}),
        "gaussian-deblur": ("gaussian_blur", {"kernel_size": 61, "std": 3.0}),
        "inpaint-box": ("box_inpainting", {"top": 64, "left": 64, "height": 128, "width": 128}),
        "inpaint-random": ("random_inpainting", {"keep": _KEPT}),
    },
    32: {
        "sr4": ("super_resolution", {"factor": 4}),
        "gaussian-deblur": ("gaussian_blur", {"kernel_size": 9, "std": 1.0}),
        "inpaint-box": ("box_inpainting", {"top": 8, "left": 8, "height": 16, "width": 16}),
        "inpaint-random": ("random_inpainting", {"keep": _KEPT}),
    },
}


def _tasks() -> dict[str, Task]:
    tasks = (
        Task(
            name=f"{name}-{size}",
            operator=operator,
            params=params,
            sigma=_SIGMA,
            image_size=size,
            own_seed=operator == "random_inpainting",
        )
        for size, choices in _CHOICES.items()
        for name, (operator, params) in choices.items()
    )
    return {task.name: task for task in tasks}


TASKS = MappingProxyType(_tasks())
