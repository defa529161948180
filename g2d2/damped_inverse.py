"""A^T (A A^T + rho I)^-1 r: exact where A's singular values are known, else by conjugate gradients."""

from collections.abc import Callable

import torch
from torch import Tensor

from operators import Linear, Spectral

_RANK = 1e-6
"""Singular values up to this share of the largest are taken for zero, where rho alone would not hold them down."""

DampedInverse = Callable[[Tensor, Tensor], Tensor]
"""(r (B, *y_shape), rho (B, 1, ...)) to (B, *x_shape); rho = 0 gives the pseudo-inverse."""


def damped_inverse(operator: Linear, like: Tensor, iterations: int) -> DampedInverse:
    """The solver of an operator, for tensors such as `like`; only conjugate gradients need `iterations`."""
    return _by_svd(operator, like) if isinstance(operator, Spectral) else _by_gradients(operator, iterations)


def _by_svd(operator: Spectral, like: Tensor) -> DampedInverse:
    exact = operator.svd().to(like.device, torch.float64)
    s = exact.singular_values  # (R, 1, h, w)
    seen = s > _RANK * s.amax(dim=(1, 2, 3), keepdim=True)
    svd = exact.to(dtype=like.dtype)

    def solve(r: Tensor, rho: Tensor) -> Tensor:
        damped = s.square() + rho.double()
        gain = torch.where(seen, s / damped.masked_fill(~seen, 1), 0).to(r.dtype)
        return svd.V(svd.embed(gain * svd.Ut(r)))

    return solve


def _by_gradients(operator: Linear, iterations: int) -> DampedInverse:
    """(A^T A + rho I) d = A^T r from d = 0; every row has its own step lengths."""

    @torch.no_grad()
    def solve(r: Tensor, rho: Tensor) -> Tensor:
        left = operator.adjoint(r)
        direction, d, size = left, torch.zeros_like(left), _dot(left, left)
        for _ in range(iterations):
            image = operator.adjoint(operator(direction)) + rho * direction
            length = _ratio(size, _dot(direction, image))
            d, left = d + length * direction, left - length * image
            before, size = size, _dot(left, left)
            direction = left + _ratio(size, before) * direction
        return d

    return solve


def _dot(a: Tensor, b: Tensor) -> Tensor:
    """Per row. (B, 1, ...)"""
    return (a * b).flatten(1).sum(dim=1).view(-1, *[1] * (a.ndim - 1))


def _ratio(a: Tensor, b: Tensor) -> Tensor:
    """a / b, and 0 where a row has nothing left to solve."""
    return torch.where(b > 0, a / b.masked_fill(b <= 0, 1), 0)
