"""Pictures: (channels, H, W) in [-1, 1], stored as PNG."""

from collections.abc import Sequence
from typing import ClassVar

from torch import Tensor

from operators.errors import InputError
from operators.pictures import decode_stored, encode_png, to_picture
from operators.signals.base import Signal
from operators.sizes import size_words
from operators.validation import shorten

LARGEST_SIDE = 2**14
"""Operators hold matrices as large as the square of a side; beyond this one row would take a machine's memory."""
TOLERANCE = 1e-3
"""A truth may leave [-1, 1] by this much."""


class Image(Signal):
    """RGB or grey pictures; what is kept of a reconstruction is its 8-bit picture."""

    name: ClassVar[str] = "image"

    def encode(self, x: Tensor) -> bytes:
        return encode_png(to_picture(x))

    def decode(self, content: bytes, name: str) -> Tensor:
        return decode_stored(content, name)

    def preview(self, x: Tensor) -> bytes:
        return self.encode(x)

    def preview_measurement(self, y: Tensor) -> bytes | None:
        return self.encode(y) if y.ndim == 3 and y.shape[0] in (1, 3) else None

    def problem(self, x: Tensor) -> str | None:
        excess = float(x.abs().amax()) - 1 if x.numel() else 0.0
        if excess > TOLERANCE:  # false where x holds NaN, which the general check names
            return f"it leaves [-1, 1] by {excess:.3g}: at most {TOLERANCE:g} is allowed"
        return super().problem(x)

    def clip(self, x: Tensor) -> Tensor:
        return x.clamp(-1, 1)

    def words(self, shape: Sequence[int]) -> str:
        return size_words(shape)

    def check_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        sides = tuple(shape)
        if len(sides) != 3 or not all(isinstance(size, int) and size > 0 for size in sides):
            raise InputError(f"x_shape is {shorten(shape)}: it must be three positive integers (C, H, W).")
        if max(sides) > LARGEST_SIDE:
            raise InputError(f"x_shape is {shorten(sides)}: no side may be above {LARGEST_SIDE}.")
        return sides
