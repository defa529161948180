"""Operators that act on the rows and the columns of an image apart: Y = A_v X A_h^T for each channel.

Padding is folded into the 1-D matrices, so the adjoint is their transpose and the SVD the product of theirs.
"""

from torch import Tensor

from operators.base import OperatorSettings, Shape, Spectral
from operators.svd import Svd, apply_per_axis, svd_per_axis


class SeparableOperator(Spectral):
    """A forward model given by one matrix per axis, (h, H) and (w, W)."""

    vertical: Tensor  # (R, h, H)
    horizontal: Tensor  # (R, w, W)

    def __init__(self, settings: OperatorSettings, x_shape: Shape, vertical: Tensor, horizontal: Tensor) -> None:
        super().__init__(settings, x_shape, (x_shape[0], vertical.shape[0], horizontal.shape[0]))
        self.register_buffer("vertical", vertical[None], persistent=False)
        self.register_buffer("horizontal", horizontal[None], persistent=False)

    def _apply_forward(self, x: Tensor) -> Tensor:
        return apply_per_axis(self.vertical, x, self.horizontal)

    def _apply_adjoint(self, y: Tensor) -> Tensor:
        return apply_per_axis(self.vertical.mT, y, self.horizontal.mT)

    def svd(self) -> Svd:
        """The Kronecker product of the two 1-D decompositions."""
        return svd_per_axis(self.vertical, self.horizontal)
