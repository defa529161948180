"""The loop as published, for comparison: one image at a time, nothing frozen, nothing skipped.

Written from a description of what the published code does, with its costs kept on purpose: every weight and the blur
kernel collect gradients, the graph is retained, so an iteration's activations live until the next one has its own,
the blur is one dense convolution, both guidance passes always run, distributions are sorted for truncation even where
little is cut, losses are read back at every iteration, and the text is encoded for every image. As there, the
transformer runs without gradients.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from g2d2.methods.g2d2_settings import G2D2Settings
from g2d2.objective import schedule_weight
from g2d2.priors import Components
from g2d2.sampling import LOG_FLOOR
from g2d2.schedule import vq_diffusion_schedule
from operators.gaussian_blur import GaussianBlurSettings, gaussian_taps

ALPHA_TOP_P = 0.95

Noise = Callable[[tuple[int, ...], int, int], Tensor]
"""Gumbel numbers of a shape, for a step and an iteration."""

Order = Callable[[int, int], Tensor]
"""So many positions in the order in which a step masks them."""


@dataclass(frozen=True)
class Published:
    """One image and the losses as printed: (total, likelihood, KL) of every iteration."""

    image: Tensor  # (1, C, H, W)
    losses: list[tuple[float, float, float]]


class DenseBlur(nn.Module):
    """All kernel_size^2 taps of the Gaussian, zeros included, as one depthwise convolution."""

    def __init__(self, settings: GaussianBlurSettings, channels: int = 3) -> None:
        super().__init__()
        self.reach = settings.kernel_size // 2
        taps = F.pad(gaussian_taps(settings.radius, settings.std), (self.reach - settings.radius,) * 2).float()
        self.kernel = nn.Parameter(torch.outer(taps, taps).repeat(channels, 1, 1, 1))  # (channels, 1, size, size)

    def forward(self, x: Tensor) -> Tensor:
        return F.conv2d(F.pad(x, (self.reach,) * 4, mode="reflect"), self.kernel, groups=len(self.kernel))


def torch_gumbel(shape: tuple[int, ...], step: int, iteration: int) -> Tensor:
    """Gumbel numbers from torch's global generator, as published."""
    return -torch.log(-torch.log(torch.rand(shape) + 1e-30) + 1e-30)


def torch_order(count: int, step: int) -> Tensor:
    """A random order from torch's global generator, as published."""
    return torch.randperm(count)


def restore_as_published(
    parts: Components,
    forward: Callable[[Tensor], Tensor],
    y: Tensor,
    settings: G2D2Settings,
    prompt: str,
    gumbel: Noise = torch_gumbel,
    token_gumbel: Noise = torch_gumbel,
    mask_order: Order = torch_order,
) -> Published:
    """One measurement (1, C, H, W); of the settings it reads the numbers, star noise and RAdam are fixed."""
    schedule = vq_diffusion_schedule(parts.scheduler.config).with_beta("K")
    states = _encode(parts, prompt)  # (2, L, C)
    codebook = parts.vqvae.quantize.embedding.weight
    side = parts.transformer.height
    z = torch.full((1, side * side), schedule.mask_id)
    losses: list[tuple[float, float, float]] = []
    log_alpha: Tensor | None = None
    for step, (t, s) in enumerate(schedule.transitions(settings.steps, "one-level")):
        log_prior = _guided_prior(parts, z, t, states, settings.guidance)
        mixed = log_prior if log_alpha is None else settings.gamma * log_prior + (1 - settings.gamma) * log_alpha
        logits = nn.Parameter(mixed.log_softmax(dim=1))
        rate, eta = (
            base * float(schedule_weight(torch.tensor(decades), step, settings.steps, endpoints=True))
            for base, decades in (
                (settings.learning_rate, settings.lambda_lr),
                (settings.eta_kl, settings.lambda_kl),
            )
        )
        optimizer = torch.optim.RAdam([logits], lr=rate)
        for iteration in range(settings.iterations):
            optimizer.zero_grad()
            noise = gumbel(tuple(logits.shape), step, iteration)
            weights = ((logits + noise) / settings.temperature).softmax(dim=1)
            grid = (codebook.T @ weights).unflatten(2, (side, side))
            image = parts.vqvae.decode(grid, force_not_quantize=True, return_dict=False)[0]
            likelihood = torch.linalg.vector_norm(y - forward(image))
            kl = (logits.softmax(dim=1) * (logits - log_prior)).sum()
            loss = eta * kl + likelihood
            loss.backward(retain_graph=True)
            optimizer.step()
            losses.append((loss.item(), likelihood.item(), kl.item()))
            with torch.no_grad():
                logits.copy_(logits.log_softmax(dim=1))
        log_alpha = logits.detach()
        mask = schedule.between(0, s)
        noise = token_gumbel(tuple(log_alpha.shape), step, 0)
        masked = mask_order(z.shape[1], step)[: int(z.shape[1] * (mask.gamma - mask.beta))]
        z = _draw(log_alpha, noise, masked, schedule.mask_id)
    with torch.no_grad():
        grid = codebook[z].mT.unflatten(2, (side, side))
        image = parts.vqvae.decode(grid, force_not_quantize=True, return_dict=False)[0]
    return Published(image, losses)


@torch.no_grad()
def _encode(parts: Components, prompt: str) -> Tensor:
    """The unconditional and the prompt's states."""
    tokenizer = parts.tokenizer
    ids = tokenizer(
        [prompt], padding="max_length", max_length=tokenizer.model_max_length, return_tensors="pt"
    ).input_ids
    hidden = parts.text_encoder(ids)[0]
    blank = parts.learned_classifier_free_sampling_embeddings.embeddings.unsqueeze(0)
    return torch.cat([blank, hidden / hidden.norm(dim=-1, keepdim=True)])


@torch.no_grad()
def _guided_prior(parts: Components, z: Tensor, t: int, states: Tensor, guidance: float) -> Tensor:
    output = parts.transformer(z.repeat(2, 1), states, torch.tensor(t - 1), return_dict=False)[0]
    without, with_prompt = output.chunk(2)
    guided = (without + guidance * (with_prompt - without)).log_softmax(dim=1)
    return _sorted_truncation(guided, 1.0).clamp(min=LOG_FLOOR)


def _sorted_truncation(log_probs: Tensor, top_p: float) -> Tensor:
    """Truncation by sorting at any top_p; at 1 too, where the sum of a certain token's codes is 1 after a few."""
    ordered, order = log_probs.sort(dim=1, descending=True)
    below = ordered.exp().cumsum(dim=1) < top_p
    kept = torch.cat([torch.ones_like(below[:, :1]), below[:, :-1]], dim=1)
    return log_probs.masked_fill(~kept.gather(1, order.argsort(dim=1)), LOG_FLOOR)


@torch.no_grad()
def _draw(log_alpha: Tensor, noise: Tensor, masked: Tensor, mask_id: int) -> Tensor:
    """z_0 from the truncated alpha, then masks at an exact count of random places."""
    truncated = _sorted_truncation(log_alpha.clamp(min=LOG_FLOOR), ALPHA_TOP_P)
    z = (truncated + noise).argmax(dim=1)
    return z.scatter(1, masked[None], mask_id)
