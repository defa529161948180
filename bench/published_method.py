"""The loop as published as a method of a sweep: `bench.published_method:PublishedLoop`, beside any other arm."""

from copy import deepcopy
from typing import ClassVar

import torch
from torch import Tensor

from bench.published_loop import DenseBlur, restore_as_published
from g2d2.methods.base import Batch, Method
from g2d2.methods.g2d2_settings import PRESETS, G2D2Settings
from g2d2.methods.recording import Recorder
from g2d2.priors import VQDiffusionPrior
from g2d2.priors.base import Discrete, Prior, PriorFacts
from operators import InputError, Operator
from operators.gaussian_blur import GaussianBlur


class PublishedLoop(Method[G2D2Settings, Discrete]):
    """One image after the other, each with torch's own random numbers from the row's seed."""

    name = "published-loop"
    Settings = G2D2Settings
    prior: ClassVar[type[Prior] | None] = Discrete
    presets = PRESETS

    def check(self, facts: PriorFacts | None, operator: Operator, settings: G2D2Settings, prompt: str = "") -> None:
        _refuse_other_noise(settings)
        super().check(facts, operator, settings, prompt)

    def restore(self, prior: Discrete, batch: Batch[G2D2Settings], record: Recorder) -> Tensor:
        if not isinstance(prior, VQDiffusionPrior):
            raise InputError(f"prior: the published loop solves on a VQ-Diffusion prior, not {type(prior).__name__}.")
        for settings in batch.settings:
            _refuse_other_noise(settings)
        parts = deepcopy(prior.components)
        for network in (parts.vqvae, parts.transformer, parts.text_encoder):
            network.requires_grad_(True)  # as freshly loaded ones do
        operator = batch.operator
        dense = isinstance(operator, GaussianBlur)
        forward = DenseBlur(operator.settings, operator.x_shape[0]) if dense else operator
        images = []
        for row, settings in enumerate(batch.settings):
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(batch.seeds[row])
                y = batch.y[row : row + 1]
                images.append(restore_as_published(parts, forward, y, settings, batch.prompts[row]).image)
            record.step(row + 1, len(batch))
        record.decoded(torch.tensor([row.steps * row.iterations + 1 for row in batch.settings]))
        return torch.cat(images)

    def work(self, settings: G2D2Settings) -> tuple[float, ...]:
        """Passes through the prior, both of which the loop always takes, and calls of the decoder."""
        return 2 * settings.steps, settings.steps * settings.iterations


def _refuse_other_noise(settings: G2D2Settings) -> None:
    """The loop runs star alone, while preset `reference` says markov where nobody says otherwise."""
    if settings.process != "star":
        raise InputError(f"process: the published loop runs star noise here, not {settings.process}; set it to star.")
