"""What x is: how a signal is stored, shown, stacked into batches, and what makes one bad."""

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor

from operators.errors import InputError


class Signal:
    """One kind of x. A subclass says how it is stored and shown; the rest has sensible defaults."""

    name: ClassVar[str]
    marks: ClassVar[bool] = False
    """Whether previews can show what was measured, such as the key points of a path."""
    ragged: ClassVar[bool] = False
    """Whether rows of one batch may differ in the length of their first axis; shorter ones are padded with zeros."""

    def encode(self, x: Tensor) -> bytes:
        """The stored form. What is scored is always `decode(encode(x))`."""
        raise NotImplementedError

    def decode(self, content: bytes, name: str) -> Tensor:
        """A stored signal as float32; an InputError that begins with `name` where it is none."""
        raise NotImplementedError

    def preview(self, x: Tensor) -> bytes:
        """A small PNG for people."""
        raise NotImplementedError

    def preview_beside(self, x: Tensor, y: Tensor | None) -> bytes:
        """The preview of x with its measurement drawn into it, where `marks` says that it can be."""
        return self.preview(x)

    def preview_measurement(self, y: Tensor) -> bytes | None:
        """The same of a measurement; None where it cannot be shown."""
        return None

    def problem(self, x: Tensor) -> str | None:
        """Why x cannot be a result or a truth; None where it can."""
        bad = int((~torch.isfinite(x)).sum())
        return f"it has {bad} NaN or infinite values: every value must be finite" if bad else None

    def clip(self, x: Tensor) -> Tensor:
        """x inside its allowed range, as metrics see it."""
        return x

    def words(self, shape: Sequence[int]) -> str:
        """A shape as people say it: `32x32 with 3 channels`."""
        return "of shape " + "x".join(map(str, shape))

    def check_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of one x, or an InputError that says what it must be."""
        sides = tuple(shape)
        if not sides or not all(isinstance(side, int) and side > 0 for side in sides):
            raise InputError(f"x_shape is {list(shape)!r}: a signal {self.name!r} has positive whole sides.")
        return sides

    def stack(self, rows: Sequence[Tensor]) -> Tensor:
        """Rows as one batch; those of a ragged signal are padded to the longest."""
        if not self.ragged or len({row.shape for row in rows}) == 1:
            return torch.stack(list(rows))
        longest = max(len(row) for row in rows)
        batch = rows[0].new_zeros(len(rows), longest, *rows[0].shape[1:])
        for index, row in enumerate(rows):
            batch[index, : len(row)] = row
        return batch

    def batch_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """What must agree within a batch: the whole shape, or all but the length of a ragged signal."""
        return tuple(shape[1:]) if self.ragged else tuple(shape)
