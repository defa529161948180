"""Denoising: y is the image plus noise."""

import torch
from torch import Tensor

from operators.base import OperatorSettings, Shape, Spectral
from operators.svd import Svd, svd_of_mask


class IdentitySettings(OperatorSettings):
    """The identity has nothing to set."""


class Identity(Spectral):
    """A = I."""

    name = "identity"
    settings_model = IdentitySettings

    def __init__(self, settings: IdentitySettings, x_shape: Shape) -> None:
        super().__init__(settings, x_shape)

    def _apply_forward(self, x: Tensor) -> Tensor:
        # A copy, as from every other operator: changing y in place must not change the image.
        return x.clone()

    def _apply_adjoint(self, y: Tensor) -> Tensor:
        return y.clone()

    def svd(self) -> Svd:
        """Every singular value is 1."""
        return svd_of_mask(torch.ones(1, 1, *self.x_shape[1:]))
