"""How far a reconstruction is from what was measured: near the noise it fits, far below it the noise is fitted too."""

from typing import ClassVar

import torch
from torch import Tensor

from eval.metrics.base import RowMetric, Scored
from eval.metrics.info import Need


class ResidualNorm(RowMetric):
    """||y - A x|| over the observed entries of y."""

    name = "residual_norm"
    summary = "distance between the measurement and a new one of the reconstruction"
    digits = 2
    needs: ClassVar[tuple[Need, ...]] = ("operator", "y")

    def rows(self, truth: Tensor, x: Tensor, scored: Scored) -> Tensor:
        operator, y = scored.operator, scored.y
        assert operator is not None
        assert y is not None
        place = next((buffer.device for buffer in operator.buffers()), self.device)
        operator.check_batch(y, operator.y_shape, "measurement batch")
        difference = y.to(place, torch.float64) - operator(x.to(place, torch.float64))
        norm = torch.linalg.vector_norm(operator.mask_noise(difference).flatten(1), dim=1).cpu()
        return torch.where(torch.isfinite(norm), norm, torch.nan)  # an infinite y is as bad as a NaN


class Residual(ResidualNorm):
    """||y - A x|| / (sigma sqrt(m)), m observed entries: 1 is what the noise alone gives."""

    name = "residual"
    summary = "distance to the measurement over that of the noise alone; 1 fits the noise"
    needs = ("operator", "y", "sigma")

    def rows(self, truth: Tensor, x: Tensor, scored: Scored) -> Tensor:
        norm = super().rows(truth, x, scored)
        assert scored.operator is not None
        assert scored.sigma is not None
        sigma = scored.sigma.detach().double().cpu()
        counts = torch.tensor(scored.operator.measurement_counts, dtype=torch.float64)  # (1,) or (B,)
        ratio = norm / (sigma * counts.sqrt())
        return torch.where(torch.isfinite(sigma) & (sigma > 0), ratio, torch.nan)
