"""The contract of a forward model: y = A(x) for a batch, what of y is observed, and more where A is linear."""

import copy
import math
from collections.abc import Sequence
from typing import ClassVar, Self

import torch
from pydantic import BaseModel, ConfigDict
from torch import Tensor, nn

from operators.errors import InputError
from operators.svd import Svd

Shape = tuple[int, ...]

_LARGEST_DENSE = 2**27


class OperatorSettings(BaseModel):
    """What decides an operator, apart from the shape of x."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True)


class Operator(nn.Module):
    """A differentiable map on batches of signals; a subclass implements `_apply_forward`.

    Every buffer has a leading axis of rows: length 1 when all rows share the settings, B after `stack`.
    Buffers are float64 until `.to(dtype)`, so that float64 work loses nothing; each use casts to the input's.
    """

    name: ClassVar[str] = "operator"
    """What sentences call it; by default the class's own name."""
    settings_model: ClassVar[type[OperatorSettings]] = OperatorSettings
    signal: ClassVar[str] = "image"
    """What x is, by name."""

    def __init__(
        self,
        settings: OperatorSettings,
        x_shape: Shape,
        y_shape: Shape | None = None,
        measurement_count: int | None = None,
    ) -> None:
        super().__init__()
        self.x_shape = x_shape
        self.y_shape = y_shape or x_shape
        self.row_settings: tuple[OperatorSettings, ...] = (settings,)
        self.row_shapes: tuple[Shape, ...] = (x_shape,)
        """Of each row's own x; shorter than `x_shape` where a ragged signal is padded."""
        self.measurement_counts: tuple[int, ...] = (measurement_count or math.prod(self.y_shape),)

    def __init_subclass__(cls) -> None:
        if "name" not in vars(cls):
            cls.name = cls.__name__

    @property
    def rows(self) -> int:
        """1 when every x of a batch meets the same settings, else the batch size it was stacked for."""
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

    def x_shapes(self, batch: int) -> list[Shape]:
        """The own shape of every x of a batch of so many rows."""
        return list(self.row_shapes) if self.rows > 1 else list(self.row_shapes) * batch

    def forward(self, x: Tensor) -> Tensor:
        """A(x): (B, *x_shape) -> (B, *y_shape)."""
        self.check_batch(x, self.x_shape, "x")
        return self._apply_forward(x)

    def check_batch(self, batch: Tensor, shape: Shape, what: str) -> None:
        """Raise an InputError unless `batch` is (B, *shape), floating point, with a row for each of ours."""
        if batch.ndim != len(shape) + 1 or tuple(batch.shape[1:]) != shape:
            raise InputError(f"{self.name}: the {what} has shape {tuple(batch.shape)}: it must be (B, {_join(shape)}).")
        if not batch.is_floating_point():
            raise InputError(f"{self.name}: the {what} has dtype {batch.dtype}: it must be a floating-point dtype.")
        if self.rows not in (1, batch.shape[0]):
            raise InputError(
                f"{self.name}: the {what} has {batch.shape[0]} rows: "
                f"it must have {self.rows}, one for each operator that was stacked."
            )

    def cropped(self, x: Tensor) -> Tensor:
        """x as long as this batch's longest, where a prior makes longer ones of a ragged signal."""
        return x if tuple(x.shape[1:]) == self.x_shape else x[:, : self.x_shape[0]]

    def norm(self, residual: Tensor) -> Tensor:
        """The size of a residual y - A(x) of each row, as a likelihood takes it. (B,)"""
        size: Tensor = torch.linalg.vector_norm(residual.flatten(1), dim=1)
        return size

    def noise_norm(self, y: Tensor) -> Tensor:
        """What `norm` is expected to give of noise of level 1 alone in measurements like y: here sqrt(m). (B,)"""
        return self.norm(self.mask_noise(torch.ones_like(y)))

    def estimate(self, y: Tensor) -> Tensor | None:
        """The x that a measurement shows by itself: y where it has x's shape, else None."""
        self.check_batch(y, self.y_shape, "measurement batch")
        return y.clone() if self.y_shape == self.x_shape else None

    def mask_noise(self, noise: Tensor) -> Tensor:
        """Remove noise from entries of y that are not observed; by default all are."""
        return noise

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
        stacked.row_shapes = tuple(shape for op in operators for shape in op.row_shapes)
        stacked.measurement_counts = tuple(count for op in operators for count in op.measurement_counts)
        for field in ("x_shape", "y_shape"):  # equal, but for the length of a ragged signal
            setattr(stacked, field, max(getattr(op, field) for op in operators))
        return stacked

    def select(self, rows: slice) -> Self:
        """The operator of some rows of a batch; itself where all rows share one."""
        if self.rows == 1:
            return self
        part = copy.copy(self)
        part._buffers = {name: None if buffer is None else buffer[rows] for name, buffer in self._buffers.items()}
        part.row_settings, part.measurement_counts = self.row_settings[rows], self.measurement_counts[rows]
        part.row_shapes = self.row_shapes[rows]
        return part

    def pick(self, rows: Sequence[int], index: Tensor) -> Self:
        """The operator of rows anywhere in a batch, whose places `index` (M,) holds on the operator's device."""
        if self.rows == 1:
            return self
        part = copy.copy(self)
        part._buffers = {name: None if buffer is None else buffer[index] for name, buffer in self._buffers.items()}
        for name in ("row_settings", "measurement_counts", "row_shapes"):
            values = getattr(self, name)
            setattr(part, name, tuple(values[row] for row in rows))
        return part

    def extra_repr(self) -> str:
        """Shown by print(op)."""
        return f"{self.x_shape} -> {self.y_shape}, rows={self.rows}, {self.row_settings[0]!r}"

    def _apply_forward(self, x: Tensor) -> Tensor:
        raise NotImplementedError

    def _stack_buffer(self, buffers: Sequence[Tensor]) -> Tensor:
        """Buffers (1, ...) as one (B, ...); those of a ragged signal are padded with zeros to the longest."""
        longest = max(buffer.shape[1] for buffer in buffers) if buffers[0].ndim > 1 else 0
        padded = [_lengthened(buffer, longest) if longest else buffer for buffer in buffers]
        return torch.cat(padded)


class Linear(Operator):
    """A linear operator: a subclass implements `_apply_adjoint` too, the exact transpose."""

    def adjoint(self, y: Tensor) -> Tensor:
        """A^T y: (B, *y_shape) -> (B, *x_shape)."""
        self.check_batch(y, self.y_shape, "measurement batch")
        return self._apply_adjoint(y)

    @torch.no_grad()
    def estimate(self, y: Tensor) -> Tensor | None:
        """The measurement itself where it has x's shape, else A^T y.

        A^T y is scaled so that a flat signal stays flat; entries that no measurement sees are 0.
        """
        shown = super().estimate(y)
        if shown is not None:
            return shown
        ones = torch.ones(max(self.rows, 1), *self.x_shape, dtype=y.dtype, device=y.device)
        seen = self._apply_adjoint(self._apply_forward(ones))
        axes = tuple(range(1, seen.ndim))
        faint = seen.abs() <= 1e-6 * seen.abs().amax(dim=axes, keepdim=True)
        return torch.where(faint, 0, self._apply_adjoint(y) / seen.masked_fill(faint, 1))

    @torch.no_grad()
    def dense(self) -> Tensor:
        """A as a float64 matrix (prod(y_shape), prod(x_shape)), for small signals."""
        pixels, entries = math.prod(self.x_shape), math.prod(self.y_shape)
        if self.rows > 1:
            raise InputError(f"{self.name}: dense() needs one row and this operator has {self.rows}.")
        if pixels * entries > _LARGEST_DENSE:
            raise InputError(
                f"{self.name}: x_shape {self.x_shape} needs a dense matrix of {entries} x {pixels}: "
                f"at most {_LARGEST_DENSE} elements are allowed."
            )
        device = next((buffer.device for buffer in self.buffers()), None)
        basis = torch.eye(pixels, dtype=torch.float64, device=device).reshape(pixels, *self.x_shape)
        return self.forward(basis).reshape(pixels, entries).T.contiguous()

    def _apply_adjoint(self, y: Tensor) -> Tensor:
        raise NotImplementedError


class Spectral(Linear):
    """A linear operator whose singular value decomposition is known."""

    def svd(self) -> Svd:
        """The singular value decomposition of A."""
        raise NotImplementedError


def _lengthened(buffer: Tensor, length: int) -> Tensor:
    missing = length - buffer.shape[1]
    return torch.cat([buffer, buffer.new_zeros(1, missing, *buffer.shape[2:])], dim=1) if missing else buffer


def _join(shape: Shape) -> str:
    return ", ".join(str(size) for size in shape)
