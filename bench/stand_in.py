"""Methods that measure the pipeline instead of themselves: one returns at once, one only takes its time."""

import os
import time

import torch
from torch import Tensor

from g2d2.methods import Batch, Recorder
from g2d2.methods.g2d2 import G2D2
from g2d2.methods.g2d2_settings import G2D2Settings
from g2d2.priors.base import Discrete

SECONDS = "G2D2_STAND_IN_SECONDS"


class Instant(G2D2):
    """Flat grey images whose value follows from the seed; nothing is computed."""

    def restore(self, prior: Discrete, batch: Batch[G2D2Settings], record: Recorder) -> Tensor:
        levels = torch.tensor([seed % 255 for seed in batch.seeds], dtype=torch.float32) / 127.5 - 1
        return levels.view(-1, 1, 1, 1).expand(len(batch), *prior.x_shape)


class Paced(G2D2):
    """The real method after a pause, so that there is time to break something."""

    def restore(self, prior: Discrete, batch: Batch[G2D2Settings], record: Recorder) -> Tensor:
        time.sleep(float(os.environ.get(SECONDS, "0.5")))
        return super().restore(prior, batch, record)


class FixedLatency(Instant):
    """A device that takes the same time for every batch, and computes nothing."""

    def restore(self, prior: Discrete, batch: Batch[G2D2Settings], record: Recorder) -> Tensor:
        time.sleep(float(os.environ.get(SECONDS, "0.5")))
        return super().restore(prior, batch, record)


class Graded(FixedLatency):
    """The measurement itself, the darker the larger eta_kl: cells that anybody can rank, for races."""

    def restore(self, prior: Discrete, batch: Batch[G2D2Settings], record: Recorder) -> Tensor:
        super().restore(prior, batch, record)
        return (1 - batch.vector("eta_kl", batch.y.ndim)) * batch.y.clamp(-1, 1)
