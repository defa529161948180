"""The Wiener filter: a linear estimate to hold other methods against, without prior or draws."""

from typing import ClassVar

import torch
from torch import Tensor

from g2d2.methods.base import Batch, Method
from g2d2.methods.recording import Recorder
from g2d2.methods.settings import MethodSettings, free
from operators import Operator, Spectral


class WienerSettings(MethodSettings):
    """How much of the measurement is taken for noise."""

    noise_to_signal: float = free(0.02, gt=0)
    """Noise variance over image variance: 0.05^2 against about 0.35^2 for photographs on [-1, 1]."""


class Wiener(Method[WienerSettings, None]):
    """V s / (s^2 + r) U^T y around zero, for operators with a singular value decomposition."""

    name = "wiener"
    Settings = WienerSettings
    operator: ClassVar[type[Operator]] = Spectral

    def restore(self, prior: None, batch: Batch[WienerSettings], record: Recorder) -> Tensor:
        assert isinstance(batch.operator, Spectral)
        svd = batch.operator.svd().to(batch.y.device, torch.float64)
        s, r = svd.singular_values, batch.vector("noise_to_signal", 4, torch.float64)
        coefficients = svd.Ut(batch.y.double()) * s / (s.square() + r)
        return svd.V(svd.embed(coefficients)).clamp(-1, 1).float()
