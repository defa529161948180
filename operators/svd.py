"""The singular value decomposition of a map that acts on the rows and the columns of an image apart."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from operators.few_rows import times


def apply_per_axis(vertical: Tensor, x: Tensor, horizontal: Tensor) -> Tensor:
    """vertical @ x @ horizontal^T for x (B, C, H, W) and matrices (R, h, H), (R, w, W), where R is 1 or B."""
    vertical, horizontal = vertical.to(x), horizontal.to(x)
    if vertical.shape[0] == 1:
        # Without the axis of rows torch folds the batch into large products instead of B * C small ones.
        return vertical[0] @ times(x, horizontal[0].mT)
    return vertical[:, None] @ (x @ horizontal[:, None].mT)


@dataclass(frozen=True)
class Svd:
    """A = U diag(s) V^T for each channel; U and V are Kronecker products of one square matrix per axis.

    Coefficients in V-space live on the image grid (H, W); the first h x w of them are those that A sees, the
    others span its null space. Singular values are not sorted: they keep the place the two axes give them.
    """

    singular_values: Tensor  # (R, 1, h, w)
    u_vertical: Tensor  # (R, h, h)
    u_horizontal: Tensor  # (R, w, w)
    v_vertical: Tensor  # (R, H, H)
    v_horizontal: Tensor  # (R, W, W)

    def Vt(self, x: Tensor) -> Tensor:
        """Image (B, C, H, W) to its coefficients (B, C, H, W)."""
        return apply_per_axis(self.v_vertical.mT, x, self.v_horizontal.mT)

    def V(self, c: Tensor) -> Tensor:
        """Coefficients (B, C, H, W) back to the image."""
        return apply_per_axis(self.v_vertical, c, self.v_horizontal)

    def Ut(self, y: Tensor) -> Tensor:
        """Measurement (B, C, h, w) to its coefficients (B, C, h, w)."""
        return apply_per_axis(self.u_vertical.mT, y, self.u_horizontal.mT)

    def U(self, c: Tensor) -> Tensor:
        """Coefficients (B, C, h, w) back to the measurement."""
        return apply_per_axis(self.u_vertical, c, self.u_horizontal)

    def crop(self, c: Tensor) -> Tensor:
        """The coefficients (B, C, h, w) of the image grid that A sees."""
        return c[..., : self.singular_values.shape[-2], : self.singular_values.shape[-1]]

    def embed(self, c: Tensor) -> Tensor:
        """Coefficients (B, C, h, w) on the image grid, zero in the null space: the transpose of `crop`."""
        below = self.v_vertical.shape[-1] - c.shape[-2]
        right = self.v_horizontal.shape[-1] - c.shape[-1]
        return F.pad(c, (0, right, 0, below))

    def to(self, device: torch.device | str | None = None, dtype: torch.dtype | None = None) -> "Svd":
        """The same decomposition on another device or in another dtype."""
        return Svd(*(tensor.to(device=device, dtype=dtype) for tensor in vars(self).values()))


def svd_per_axis(vertical: Tensor, horizontal: Tensor) -> Svd:
    """Decompose x -> vertical @ x @ horizontal^T, in float64 whatever the matrices' dtype."""
    u_v, s_v, vt_v = torch.linalg.svd(vertical.double(), full_matrices=True)
    u_h, s_h, vt_h = torch.linalg.svd(horizontal.double(), full_matrices=True)
    singular_values = (s_v[:, :, None] * s_h[:, None, :])[:, None]
    return Svd(singular_values, u_v, u_h, vt_v.mT, vt_h.mT)


def svd_of_mask(mask: Tensor) -> Svd:
    """Decompose x -> mask * x for a mask (R, 1, H, W): pixels are already the singular vectors."""
    rows, _, height, width = mask.shape
    vertical = torch.eye(height, dtype=torch.float64, device=mask.device).expand(rows, -1, -1)
    horizontal = torch.eye(width, dtype=torch.float64, device=mask.device).expand(rows, -1, -1)
    return Svd(mask.double(), vertical, horizontal, vertical, horizontal)
