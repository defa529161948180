"""What the benches solve: deblurring with random weights of three architectures; weights do not change the cost."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from g2d2.priors import ITHQ, TINY, Architecture, Components, VQDiffusionPrior
from g2d2.priors.vq_diffusion.random_weights import random_components
from operators import TASKS, Operator, measure
from operators.gaussian_blur import GaussianBlurSettings
from operators.tasks import Task

PROMPT = "a photo of a frog"

SMALL = Architecture(
    codes=1024,
    code_width=16,
    latent_width=16,
    token_side=8,
    decoder_channels=(16, 32, 64),
    decoder_layers=1,
    norm_groups=8,
    transformer_layers=8,
    heads=4,
    head_width=32,
    text_width=64,
    text_length=16,
)
"""The shape of the embedded prior: 32x32 images of 64 tokens."""

FULL = ITHQ.with_layers(2)
"""The published shape with 2 of its 36 layers. Solved with 2 iterations per step it keeps about the published balance
of prior and decoder (36 layers to 30 iterations), in a time and memory that a laptop has."""

_TINY_TASK = Task(
    name="gaussian-deblur-8",
    operator="gaussian_blur",
    params={"kernel_size": 5, "std": 0.6},
    sigma=0.05,
    image_size=8,
)


@dataclass(frozen=True)
class Problem:
    """An architecture and the blur at its image size."""

    name: str
    shape: Architecture
    task: Task
    steps: int
    iterations: int

    def components(self) -> Components:
        """Random parts, the same at every call; weights ask for gradients, as freshly loaded ones do."""
        parts = random_components(self.shape)
        if self.shape == SMALL:
            # The embedded prior differs from the published one in two places that an Architecture does not name.
            parts.vqvae = type(parts.vqvae).from_config(parts.vqvae.config, mid_block_add_attention=False)
            parts.vqvae.quantize.embedding.weight.data.normal_()
            parts.transformer = type(parts.transformer).from_config(
                parts.transformer.config, activation_fn="gelu-approximate"
            )
        return parts

    def weight_bytes(self) -> int:
        networks = [part for part in vars(self.components()).values() if isinstance(part, nn.Module)]
        return sum(weight.nbytes for network in networks for weight in network.parameters())

    def prior(self) -> VQDiffusionPrior:
        return VQDiffusionPrior(self.components())

    def operator(self) -> Operator:
        return self.task.build().to(dtype=torch.float32)

    def blur_settings(self) -> GaussianBlurSettings:
        return GaussianBlurSettings.model_validate(self.task.params)

    def measurements(self, count: int) -> Tensor:
        """Blurred noise images. (B, 3, H, W)"""
        side = self.task.image_size
        images = torch.rand(count, 3, side, side, generator=torch.Generator().manual_seed(0)) * 2 - 1
        return measure(self.operator(), images, sigma=self.task.sigma, seeds=range(count))


PROBLEMS = {
    problem.name: problem
    for problem in (
        Problem("tiny", TINY, _TINY_TASK, steps=2, iterations=3),
        Problem("small", SMALL, TASKS["gaussian-deblur-32"], steps=2, iterations=30),
        Problem("full", FULL, TASKS["gaussian-deblur-256"], steps=1, iterations=2),
    )
}
