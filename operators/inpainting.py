"""Inpainting: y is the image on its own grid; missing pixels are zero and carry no noise."""

import torch
from pydantic import Field
from torch import Tensor

from operators.base import OperatorSettings, Shape, Spectral
from operators.errors import InputError
from operators.seeding import seeded_generator
from operators.svd import Svd, svd_of_mask


class MaskOperator(Spectral):
    """Keep the pixels where a mask (H, W), shared by the channels, is true."""

    mask: Tensor  # (R, 1, H, W), bool

    def __init__(self, settings: OperatorSettings, x_shape: Shape, mask: Tensor) -> None:
        super().__init__(settings, x_shape, measurement_count=x_shape[0] * int(mask.sum()))
        self.register_buffer("mask", mask[None, None], persistent=False)

    def _apply_forward(self, x: Tensor) -> Tensor:
        # Not a product: a missing pixel must stay zero even where x is infinite or NaN.
        return torch.where(self.mask.to(x.device), x, 0)

    def _apply_adjoint(self, y: Tensor) -> Tensor:
        return self._apply_forward(y)

    def mask_noise(self, noise: Tensor) -> Tensor:
        """Missing pixels carry no noise."""
        return self._apply_forward(noise)

    def svd(self) -> Svd:
        """Singular values 1 and 0, singular vectors the pixels themselves."""
        return svd_of_mask(self.mask)


class BoxInpaintingSettings(OperatorSettings):
    """The missing box, in pixels."""

    top: int = Field(ge=0)
    """First missing row."""

    left: int = Field(ge=0)
    """First missing column."""

    height: int = Field(ge=1)
    """Missing rows."""

    width: int = Field(ge=1)
    """Missing columns."""


class BoxInpainting(MaskOperator):
    """One rectangle of the image is missing."""

    name = "box_inpainting"
    settings_model = BoxInpaintingSettings

    def __init__(self, settings: BoxInpaintingSettings, x_shape: Shape) -> None:
        _, height, width = x_shape
        for start, extent, side in (("top", "height", height), ("left", "width", width)):
            first, count = getattr(settings, start), getattr(settings, extent)
            if first + count > side:
                raise InputError(
                    f"box_inpainting: {start} {first} and {extent} {count} end at {first + count}: "
                    f"the box must lie inside the {width}x{height} image."
                )
        mask = torch.ones(height, width, dtype=torch.bool)
        mask[settings.top : settings.top + settings.height, settings.left : settings.left + settings.width] = False
        if not mask.any():
            raise InputError(
                f"box_inpainting: height {settings.height} and width {settings.width} cover the whole "
                f"{width}x{height} image: at least one pixel must remain."
            )
        super().__init__(settings, x_shape, mask)


class RandomInpaintingSettings(OperatorSettings):
    """Which share of the pixels is kept, and the seed of the choice."""

    keep: float = Field(default=0.3, gt=0, le=1)
    """Share of the pixels that are observed; the count is exact, not a probability per pixel."""

    seed: int = 0
    """Decides which pixels; the same on every device."""


class RandomInpainting(MaskOperator):
    """Randomly chosen pixels are missing in all channels."""

    name = "random_inpainting"
    settings_model = RandomInpaintingSettings

    def __init__(self, settings: RandomInpaintingSettings, x_shape: Shape) -> None:
        _, height, width = x_shape
        pixels = height * width
        kept = round(settings.keep * pixels)
        if kept == 0:
            raise InputError(
                f"random_inpainting: keep is {settings.keep}: at least one pixel of the {width}x{height} "
                f"image must remain, so it must be above {0.5 / pixels:.2g}."
            )
        order = torch.randperm(pixels, generator=seeded_generator(settings.seed, "random_inpainting mask"))
        mask = torch.zeros(pixels, dtype=torch.bool)
        mask[order[:kept]] = True
        super().__init__(settings, x_shape, mask.reshape(height, width))
