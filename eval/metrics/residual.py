"""How far a reconstruction is from what was measured: near the noise it fits, far below it the noise is fitted too."""

import torch
from torch import Tensor

from eval.metrics.base import MetricSettings, RowMetric, Scored
from eval.metrics.registry import MetricInfo, register_metric
from operators import InputError, Operator


class ResidualSettings(MetricSettings):
    """Residuals have no settings."""


class ResidualNorm(RowMetric):
    """||y - A x|| over the observed entries of y."""

    def __init__(self, info: MetricInfo, settings: ResidualSettings, device: torch.device) -> None:
        super().__init__(info.name, info.direction, info.unit, device)

    def rows(self, truth: Tensor, images: Tensor, scored: Scored) -> Tensor:
        if scored.operator is None or scored.y is None:
            raise InputError(f"{self.name}: operator and y are missing: it compares a measurement with a new one.")
        return self._norm(images, scored.operator, scored.y)

    def _norm(self, images: Tensor, operator: Operator, y: Tensor) -> Tensor:
        place = next((buffer.device for buffer in operator.buffers()), self.device)
        operator.check_batch(y, operator.measurement_shape, "measurement batch")
        difference = y.to(place, torch.float64) - operator(images.to(place, torch.float64))
        norm = torch.linalg.vector_norm(operator.mask_noise(difference).flatten(1), dim=1).cpu()
        return torch.where(torch.isfinite(norm), norm, torch.nan)  # an infinite y is as bad as a NaN


class Residual(ResidualNorm):
    """||y - A x|| / (sigma sqrt(m)), m observed entries: 1 is what the noise alone gives."""

    def rows(self, truth: Tensor, images: Tensor, scored: Scored) -> Tensor:
        norm = super().rows(truth, images, scored)
        if scored.operator is None or scored.sigma is None:
            raise InputError(f"{self.name}: sigma is missing: it must be the noise level of each row.")
        sigma = scored.sigma.detach().double().cpu()
        counts = torch.tensor(scored.operator.measurement_counts, dtype=torch.float64)  # (1,) or (B,)
        ratio = norm / (sigma * counts.sqrt())
        return torch.where(torch.isfinite(sigma) & (sigma > 0), ratio, torch.nan)


register_metric(
    MetricInfo("residual", "none", "", "distance to the measurement over that of the noise alone; 1 fits the noise"),
    ResidualSettings,
    Residual,
)
register_metric(
    MetricInfo("residual_norm", "none", "", "distance between the measurement and a new one of the reconstruction"),
    ResidualSettings,
    ResidualNorm,
)
