"""The contract of a forward model: y = A x for a batch, its exact transpose, and what of y is observed."""

import copy
import math
from collections.abc import Sequence
from typing import ClassVar, Self

import torch
from pydantic import BaseModel, ConfigDict
from torch import Tensor, nn

from operators.errors import InputError
from operators.svd import Svd

Shape = tuple[int, int, int]

_LARGEST_DENSE = 2**27


class OperatorSettings(BaseModel):
    """What decides an operator, apart from the image's shape."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True)


class Operator(nn.Module):
    """A linear map on images (B, C, H, W); subclasses implement `_apply_forward` and `_apply_adjoint`.

    Every buffer has a leading axis of rows: length 1 when all images share the settings, B after `stack`.
    Buffers are float64 until `.to(dtype)`, so that float64 work loses nothing; each use casts to the input's.
    """

    name: ClassVar[str]
    settings_model: ClassVar[type[OperatorSettings]]

    def __init__(
        self,
        settings: OperatorSettings,
        image_shape: Shape,
        measurement_shape: Shape | None = None,
        measurement_count: int | None = None,
    ) -> None:
        super().__init__()
        self.image_shape = image_shape
        self.measurement_shape = measurement_shape or image_shape
        self.row_settings: tuple[OperatorSettings, ...] = (settings,)
        self.measurement_counts: tuple[int, ...] = (measurement_count or math.prod(self.measurement_shape),)

    @property
    def rows(self) -> int:
        """1 when every image of a batch meets the same settings, else the batch size it was stacked for."""
        return len(self.row_settings)

    @property
    def settings(self) -> OperatorSettings:
        """The settings all rows share."""
        if len(set(self.row_settings)) > 1:
            raise InputError(f"{self.name}: the {self.rows} rows have different settings: use row_settings.")
        return self.row_settings[0]

    @property
    def measurement_count(self) -> int:
        """m, the number of observed entries of one measurement: its noise has the norm sigma * sqrt(m)."""
        if len(set(self.measurement_counts)) > 1:
            raise InputError(f"{self.name}: the {self.rows} rows observe different counts: use measurement_counts.")
        return self.measurement_counts[0]

    def forward(self, x: Tensor) -> Tensor:
        """A x: (B, *image_shape) -> (B, *measurement_shape)."""
        self.check_batch(x, self.image_shape, "image batch")
        return self._apply_forward(x)

    def adjoint(self, y: Tensor) -> Tensor:
        """A^T y: (B, *measurement_shape) -> (B, *image_shape)."""
        self.check_batch(y, self.measurement_shape, "measurement batch")
        return self._apply_adjoint(y)

    def check_batch(self, batch: Tensor, shape: Shape, what: str) -> None:
        """Raise an InputError unless `batch` is (B, *shape), floating point, with a row for each of ours."""
        if batch.ndim != 4 or tuple(batch.shape[1:]) != shape:
            raise InputError(f"{self.name}: the {what} has shape {tuple(batch.shape)}: it must be (B, {_join(shape)}).")
        if not batch.is_floating_point():
            raise InputError(f"{self.name}: the {what} has dtype {batch.dtype}: it must be a floating-point dtype.")
        if self.rows not in (1, batch.shape[0]):
            raise InputError(
                f"{self.name}: the {what} has {batch.shape[0]} rows: "
                f"it must have {self.rows}, one for each operator that was stacked."
            )

    @torch.no_grad()
    def as_image(self, y: Tensor) -> Tensor:
        """What a measurement shows without any method: itself where it has the image's shape, else A^T y.

        A^T y is scaled so that a flat image stays flat; pixels that no measurement sees are 0.
        """
        self.check_batch(y, self.measurement_shape, "measurement batch")
        if self.measurement_shape == self.image_shape:
            return y.clone()
        ones = torch.ones(max(self.rows, 1), *self.image_shape, dtype=y.dtype, device=y.device)
        seen = self._apply_adjoint(self._apply_forward(ones))
        faint = seen.abs() <= 1e-6 * seen.abs().amax(dim=(1, 2, 3), keepdim=True)
        return torch.where(faint, 0, self._apply_adjoint(y) / seen.masked_fill(faint, 1))

    def mask_noise(self, noise: Tensor) -> Tensor:
        """Remove noise from entries of y that are not observed; by default all are."""
        return noise

    def svd(self) -> Svd:
        """The singular value decomposition of A."""
        raise InputError(f"{self.name} has no singular value decomposition: choose an operator that acts per axis.")

    @torch.no_grad()
    def dense(self) -> Tensor:
        """A as a float64 matrix (prod(measurement_shape), prod(image_shape)), for small images."""
        pixels, entries = math.prod(self.image_shape), math.prod(self.measurement_shape)
        if self.rows > 1:
            raise InputError(f"{self.name}: dense() needs one row and this operator has {self.rows}.")
        if pixels * entries > _LARGEST_DENSE:
            raise InputError(
                f"{self.name}: image_shape {self.image_shape} needs a dense matrix of {entries} x {pixels}: "
                f"at most {_LARGEST_DENSE} elements are allowed."
            )
        device = next((buffer.device for buffer in self.buffers()), None)
        basis = torch.eye(pixels, dtype=torch.float64, device=device).reshape(pixels, *self.image_shape)
        return self.forward(basis).reshape(pixels, entries).T.contiguous()

    def stack(self, others: Sequence[Self]) -> Self:
        """One operator whose row i is the i-th of self and others; `stack_operators` checks that they fit."""
        operators = (self, *others)
        stacked = copy.copy(self)
        stacked._buffers = {}
        for name, own in self.named_buffers():
            stacked.register_buffer(
                name, self._stack_buffer([op.get_buffer(name).to(own) for op in operators]), persistent=False
            )
        stacked.row_settings = tuple(settings for op in operators for settings in op.row_settings)
        stacked.measurement_counts = tuple(count for op in operators for count in op.measurement_counts)
        return stacked

    def select(self, rows: slice) -> Self:
        """The operator of some rows of a batch; itself where all rows share one."""
        if self.rows == 1:
            return self
        part = copy.copy(self)
        part._buffers = {name: None if buffer is None else buffer[rows] for name, buffer in self._buffers.items()}
        part.row_settings, part.measurement_counts = self.row_settings[rows], self.measurement_counts[rows]
        return part

    def extra_repr(self) -> str:
        """Shown by print(op)."""
        return f"{self.image_shape} -> {self.measurement_shape}, rows={self.rows}, {self.row_settings[0]!r}"

    def _apply_forward(self, x: Tensor) -> Tensor:
        raise NotImplementedError

    def _apply_adjoint(self, y: Tensor) -> Tensor:
        raise NotImplementedError

    def _stack_buffer(self, buffers: Sequence[Tensor]) -> Tensor:
        return torch.cat(list(buffers))


def _join(shape: Shape) -> str:
    return ", ".join(str(size) for size in shape)
