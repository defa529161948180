"""Compare networks that were changed for speed with the plain ones: compilers may lie, and a precision be too low."""

from collections.abc import Callable

import torch
from torch import Tensor

from g2d2.priors.base import Condition, Diffusion, Discrete, Latent
from operators import InputError

PROBE_ROWS = 2

TOLERANCES = {
    torch.float64: 0.005,
    torch.float32: 0.005,  # GPUs may multiply with ten bits of mantissa
    torch.float16: 0.05,
    torch.bfloat16: 0.2,
}
"""Largest ||changed - plain|| / ||plain|| by the precision of the networks; what is wrong is off by about 1."""


Answers = dict[str, Tensor]
"""A prior's answers to a few fixed questions, by what each is."""


def ask(prior: Discrete, rows: int = PROBE_ROWS, guidance: float = 1.0) -> Answers:
    """Answers for a batch of that many rows, half of its tokens masked; torch's own random state is left as it is.

    With guidance every row takes two passes, where the prior does that; another number of them is another shape.
    """
    prompt = "" if guidance == 1 else "a"  # without a prompt guidance changes nothing
    generator = torch.Generator().manual_seed(0)
    codes, level = len(prior.codebook), max(1, prior.schedule.train_steps // 2)
    tokens = torch.randint(codes, (rows, prior.num_tokens), generator=generator)
    masked = torch.rand(tokens.shape, generator=generator) < 0.5
    z_t = torch.where(masked, prior.mask_id, tokens).to(prior.device)
    log_probs = prior.log_probs(z_t, level, prior.condition([prompt] * rows, [guidance] * rows))
    embeddings = prior.codebook[tokens.to(prior.device)].mT.to(prior.dtype).requires_grad_()  # (B, C, D)
    images = prior.decode(embeddings)
    return {
        "the decoder's image": images.detach(),
        "the decoder's gradient": probe_gradient(images, embeddings),
        "the transformer's distribution": log_probs.exp(),
    }


def ask_diffusion(prior: Diffusion, condition: Condition) -> Answers:
    """Answers for the rows of a condition, as much noise as signal; torch's own random state is left as it is."""
    generator, rows = torch.Generator().manual_seed(0), len(condition.guidance)
    level = int((prior.alpha_bar - 0.5).abs().argmin())
    z_t = torch.randn((rows, *prior.z_shape), generator=generator).to(prior.device, prior.dtype).requires_grad_()
    x0 = prior.denoise(z_t, level, condition).x0
    answers = {"the denoiser's x_0": x0.detach(), "the denoiser's gradient": probe_gradient(x0, z_t)}
    if isinstance(prior, Latent):
        images = prior.decode(z_t)
        x = (torch.rand((rows, *prior.x_shape), generator=generator) * 2 - 1).to(prior.device, prior.dtype)
        latents = prior.encode(x.requires_grad_())
        answers |= {
            "the decoder's image": images.detach(),
            "the decoder's gradient": probe_gradient(images, z_t),
            "the encoder's latents": latents.detach(),
            "the encoder's gradient": probe_gradient(latents, x),
        }
    return answers


def set_up_networks(
    set_up: Callable[[torch.dtype, torch.memory_format], None],
    answers: Callable[[], Answers],
    dtype: torch.dtype,
    channels_last: bool,
) -> None:
    """Set a prior's networks up; where precision or layout change, they must answer as the plain ones do."""
    changes = {
        f"dtype {str(dtype).removeprefix('torch.')}": dtype in (torch.float16, torch.bfloat16),
        "channels_last": channels_last,
    }
    change = " and ".join(name for name, made in changes.items() if made)
    plain = None
    if change:
        set_up(torch.float32, torch.contiguous_format)
        plain = answers()
    set_up(dtype, torch.channels_last if channels_last else torch.contiguous_format)
    if plain is not None:
        refuse_other_answers(plain, answers(), dtype, change)


def refuse_other_answers(plain: Answers, changed: Answers, dtype: torch.dtype, change: str) -> None:
    """One sentence where the changed networks do not answer as the plain ones do."""
    for name, answer in plain.items():
        refuse_difference(name, changed[name], answer, dtype, change)


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
