"""The best a linear denoiser can do: the posterior mean under a normal distribution fitted to training data."""

import torch
from torch import Tensor


class NormalModel:
    """Mean and covariance of training data; `denoise` is the linear estimate of least squared error."""

    def __init__(self, data: Tensor) -> None:
        """Fit to `data`, (N, ...)."""
        flat = data.flatten(1)
        self.mean = flat.mean(0)
        centred = flat - self.mean
        values, self.axes = torch.linalg.eigh(centred.T @ centred / len(flat))
        self.values: Tensor = values.clamp(min=0)

    def denoise(self, noisy: Tensor, sigma: float) -> Tensor:
        """E[x | x + sigma n], of the shape and on the device of `noisy`."""
        shrink = self.values / (self.values + sigma**2)
        centred = noisy.cpu().flatten(1) - self.mean
        estimate: Tensor = self.mean + (centred @ self.axes * shrink) @ self.axes.T
        return estimate.view_as(noisy.cpu()).to(noisy.device)
