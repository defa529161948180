"""Compare networks that were changed for speed with the plain ones: compilers may lie, and a precision be too low."""

from dataclasses import dataclass

import torch
from torch import Tensor

from g2d2.priors.base import Prior
from operators import InputError

PROBE_ROWS = 2

TOLERANCES = {
    torch.float64: 0.005,
    torch.float32: 0.005,  # GPUs may multiply with ten bits of mantissa
    torch.float16: 0.05,
    torch.bfloat16: 0.2,
}
"""Largest ||changed - plain|| / ||plain|| by the precision of the networks; what is wrong is off by about 1."""


@dataclass(frozen=True)
class Answers:
    """A prior's answers to a few fixed questions."""

    images: Tensor
    gradient: Tensor
    """Of a weighted sum of the images' pixels, by the embeddings they were decoded from."""
    probabilities: Tensor
    """Of every code for tokens of which half are masked."""


def ask(prior: Prior, rows: int = PROBE_ROWS) -> Answers:
    """The prior's answers for a batch of that many rows; torch's own random state is left as it is."""
    generator = torch.Generator().manual_seed(0)
    codes, level = len(prior.codebook), max(1, prior.schedule.train_steps // 2)
    tokens = torch.randint(codes, (rows, prior.num_tokens), generator=generator)
    masked = torch.rand(tokens.shape, generator=generator) < 0.5
    z_t = torch.where(masked, prior.schedule.mask_id, tokens).to(prior.device)
    log_probs = prior.log_probs(z_t, level, prior.encode_prompts([""] * rows, [1.0] * rows))
    embeddings = prior.codebook[tokens.to(prior.device)].mT.to(prior.dtype).requires_grad_()  # (B, C, D)
    images = prior.decode(embeddings)
    return Answers(images.detach(), probe_gradient(images, embeddings), log_probs.exp())


def refuse_other_answers(plain: Answers, changed: Answers, dtype: torch.dtype, change: str) -> None:
    """One sentence where the changed networks do not answer as the plain ones do."""
    refuse_difference("the decoder's image", changed.images, plain.images, dtype, change)
    refuse_difference("the decoder's gradient", changed.gradient, plain.gradient, dtype, change)
    refuse_difference("the transformer's distribution", changed.probabilities, plain.probabilities, dtype, change)


def refuse_difference(name: str, value: Tensor, plain: Tensor, dtype: torch.dtype, change: str) -> None:
    difference, limit = distance(value, plain), TOLERANCES[dtype]
    if not difference <= limit:  # NaN is no agreement either
        raise InputError(
            f"{change}: {name} is off by {difference:.2g} of its size from the plain network's, where {limit:g} is "
            "allowed; do without on this machine."
        )


def distance(value: Tensor, plain: Tensor) -> float:
    """||value - plain|| / ||plain||"""
    plain = plain.double()
    return float(torch.linalg.vector_norm(value.double() - plain) / torch.linalg.vector_norm(plain))


def probe_gradient(output: Tensor, by: Tensor) -> Tensor:
    """Gradient of a fixed weighted sum of the output."""
    weights = torch.randn(output.shape, generator=torch.Generator().manual_seed(0)).to(output)
    return torch.autograd.grad((output * weights).sum(), by)[0]
