"""What a prior is to methods, by kind, and what is known of one before it is loaded."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from g2d2.priors.catalog import CATALOG
from g2d2.schedule import NoiseSchedule
from operators import InputError, find_signal

_ENDS = 2
"""Tokens that stand around every prompt."""


class Prior:
    """A frozen generative model: all that the road sees of one."""

    signal: str = "image"
    """What it makes, by name."""
    x_shape: tuple[int, ...]
    """Of one x; the longest, where the signal is ragged."""
    device: torch.device
    dtype: torch.dtype = torch.float32
    """Precision of a method's own arithmetic; networks may run in less."""

    def takes(self, signal: str, x_shape: Sequence[int]) -> bool:
        """Whether x of this signal and shape is one that the prior makes."""
        return _fits(self.signal, self.x_shape, signal, x_shape)

    def __init__(self, device: torch.device | str = "cpu") -> None:
        self.device = torch.device(device)


def network_passes(guidance: float) -> int:
    """How often a row runs through the network per call: with and without prompt, unless one has no weight."""
    return (guidance != 0) + (guidance != 1)


class GuidedPasses(NamedTuple):
    """How passes with a prompt, then those without, make up the rows of a batch."""

    rows: Tensor  # (P,): the row of each pass
    weights: Tensor  # (P, 1, 1): what it counts for there
    prompted: int
    """Passes that have a prompt."""


@dataclass(frozen=True)
class Condition:
    """Encoded prompts of a batch with each row's guidance scale, and which of its tokens count."""

    embeddings: Tensor  # (B, L, C)
    guidance: Tensor  # (B,), on the CPU so that choosing passes never waits for a device
    active: Tensor | None = None  # (B, D), bool: False where a shorter x has no token; None: all count
    pooled: Tensor | None = None  # (B, P): one state per prompt, where the network takes it beside the embeddings

    @property
    def passes(self) -> Tensor:
        """Of each row, per call of the network."""
        return torch.tensor([network_passes(scale) for scale in self.guidance.tolist()])  # (B,)

    @cached_property
    def guided(self) -> GuidedPasses:
        """The passes on the device, brought there once for all steps; a row at s = 1 or s = 0 has one of the two."""
        scale, device = self.guidance, self.embeddings.device
        with_prompt, without = ((scale != weight).nonzero().flatten() for weight in (0, 1))
        weights = torch.cat([scale[with_prompt], 1 - scale[without]]).view(-1, 1, 1)
        return GuidedPasses(torch.cat([with_prompt, without]).to(device), weights.to(device), len(with_prompt))

    def select(self, rows: slice) -> "Condition":
        """The condition of some rows."""
        active, pooled = (None if part is None else part[rows] for part in (self.active, self.pooled))
        embeddings, guidance = self.embeddings[rows], self.guidance[rows]
        return replace(self, embeddings=embeddings, guidance=guidance, active=active, pooled=pooled)


class Discrete(Prior):
    """Over D tokens of K codes, with a differentiable decoder. Tokens are 0..K-1, and `mask_id` where masked."""

    codebook: Tensor
    """Embedding of every code. (K, C)"""
    schedule: NoiseSchedule
    num_tokens: int
    decode_rows: int | None = None
    """Rows to decode and differentiate at once, to bound memory; None takes the whole batch."""
    static_shapes: bool = False
    """Whether other numbers of rows cost more than rows for nothing, as they do compiled networks."""

    @property
    def mask_id(self) -> int:
        """What stands for a masked token in `log_probs`; K unless the network's vocabulary has it elsewhere."""
        return self.schedule.num_codes

    def condition(
        self, prompts: Sequence[str], guidance: Sequence[float], x_shapes: Sequence[Sequence[int]] | None = None
    ) -> Condition:
        """Prompts as the network takes them; `x_shapes` are the rows' own where the signal is ragged."""
        raise NotImplementedError

    def log_probs(self, z_t: Tensor, t: int, condition: Condition, top_p: float = 1.0) -> Tensor:
        """log p(z_0 | z_t) at noise level t for tokens (B, D), normalised over codes. (B, K, D)"""
        raise NotImplementedError

    def decode(self, embeddings: Tensor, active: Tensor | None = None) -> Tensor:
        """x from embeddings (B, C, D), differentiable; `active` as in `Condition`. (B, *x_shape)"""
        raise NotImplementedError

    def encode(self, x: Tensor) -> Tensor:
        """Tokens of x. (B, D)"""
        raise NotImplementedError


@dataclass(frozen=True)
class Denoised:
    """What a denoiser says of x_t: the clean x, the noise, and the next step's log-variance where it is learned."""

    x0: Tensor  # (B, *shape of x_t)
    eps: Tensor  # (B, ...)
    log_variance: Tensor | None = None  # (B, ...): of the ancestral step t -> t-1, where the network learned it


class Diffusion(Prior):
    """A Gaussian diffusion (variance preserving): x_t = sqrt(alpha_bar_t) x_0 + sqrt(1 - alpha_bar_t) eps."""

    alpha_bar: Tensor
    """(T,), float64 on the CPU: the schedule is read on the host, never a device value."""
    z_shape: tuple[int, ...]
    """Of what diffuses: x_shape for pixels, the latents' shape otherwise."""
    decode_rows: int | None = None
    """Rows to denoise, decode and differentiate at once, to bound memory; None takes the whole batch."""

    def condition(
        self, prompts: Sequence[str], guidance: Sequence[float], x_shapes: Sequence[Sequence[int]] | None = None
    ) -> Condition:
        """Prompts as the network takes them: embeddings (B, L, C), class labels (B, 1, 1), or nothing (B, 0, 0)."""
        raise NotImplementedError

    def denoise(self, z_t: Tensor, t: int, condition: Condition) -> Denoised:
        """What z_t holds at training timestep t = 0..T-1, with guidance; differentiable in z_t. (B, *z_shape)"""
        raise NotImplementedError


class Latent(Diffusion):
    """A diffusion over the latents of an autoencoder."""

    def encode(self, x: Tensor) -> Tensor:
        """x to (scaled) latents, differentiable. (B, *z_shape)"""
        raise NotImplementedError

    def decode(self, z: Tensor) -> Tensor:
        """Latents to x, differentiable. (B, *x_shape)"""
        raise NotImplementedError


class Misfit(NamedTuple):
    """Why a prior makes no x like the ones asked for, and what to do instead."""

    field: str
    reason: str
    remedy: str


@dataclass(frozen=True)
class PriorFacts:
    """What a prior takes and makes, from its files alone; no network is loaded for it."""

    kind: type[Prior]
    signal: str
    x_shape: tuple[int, ...]
    train_steps: int | None = None
    """Most steps a method may take; None where there is no such limit."""
    prompt_tokens: int | None = None
    """Of the longest prompt, its start and its end included; None where prompts are not counted."""
    count_tokens: Callable[[Sequence[str]], list[int]] | None = field(default=None, compare=False)
    """Tokens of each prompt, its start and its end included."""
    misfit: Callable[[str, float], str | None] | None = field(default=None, compare=False)
    """Why a prompt with a guidance scale is none that the prior takes, as a sentence's end; None: every text is."""
    guided: Literal["every row", "prompted rows", "no row"] = "every row"
    """What guidance changes: where it changes nothing, a row costs one pass whatever its scale."""

    def scale(self, guidance: float, prompt: str) -> float:
        """The guidance scale as it counts for a row of this prompt."""
        idle = self.guided == "no row" or (self.guided == "prompted rows" and prompt == "")
        return 1.0 if idle else guidance

    def takes(self, signal: str, x_shape: Sequence[int]) -> bool:
        """Whether x of this signal and shape is one that the prior makes."""
        return _fits(self.signal, self.x_shape, signal, x_shape)

    def x_misfit(self, signal: str, x_shape: Sequence[int]) -> Misfit | None:
        """Why the prior makes no x of this signal and shape; None where it does."""
        if self.signal != signal:
            known = next((name for name, one in CATALOG.items() if one.signal == signal), None)
            remedy = f"choose one that makes {signal}s" if known is None else f"choose one such as {known}"
            return Misfit("prior", f"it makes {self.signal}s, and these are {signal}s", remedy)
        if self.takes(signal, x_shape):
            return None
        words = find_signal(signal).words
        reason = f"its {signal}s are {words(x_shape)} and the prior's {words(self.x_shape)}"
        return Misfit("x_shape", reason, "build the manifest for this size")

    def too_long(self, prompts: Iterable[str]) -> dict[str, int]:
        """The prompts that have too many tokens, with their number."""
        limit = self.prompt_tokens
        if limit is None or self.count_tokens is None:
            return {}
        # a character of ASCII is at most one token
        doubtful = [text for text in prompts if not (text.isascii() and len(text) + _ENDS <= limit)]
        counts = self.count_tokens(doubtful) if doubtful else []
        return {text: count for text, count in zip(doubtful, counts, strict=True) if count > limit}

    def prompt_problems(self, prompts: Iterable[str], guidance: float = 1.0) -> dict[str, str]:
        """The prompts that the prior does not take, each with the reason: `has 90 tokens and ... allows 77`."""
        prompts = list(prompts)
        problems = {
            text: f"has {count} tokens and the prior's tokenizer allows {self.prompt_tokens}"
            for text, count in self.too_long(prompts).items()
        }
        if self.misfit is not None:
            problems |= {text: reason for text in prompts if (reason := self.misfit(text, guidance)) is not None}
        return problems

    def check_prompt(self, prompt: str, guidance: float = 1.0) -> None:
        """Refuse a prompt that has too many tokens, or is none that the prior takes with this guidance scale."""
        for text, reason in self.prompt_problems([prompt], guidance).items():
            raise InputError(f"prompt: {text[:60]!r} {reason}.")


def _fits(signal: str, shape: tuple[int, ...], other_signal: str, other_shape: Sequence[int]) -> bool:
    """Equal shapes, or a shorter x of a ragged signal."""
    other = tuple(other_shape)
    if signal != other_signal or len(shape) != len(other):
        return False
    return shape == other or (find_signal(signal).ragged and shape[1:] == other[1:] and other[0] <= shape[0])


def joined(parts: Sequence[Tensor]) -> Tensor:
    """Parts of a batch as one; a single part is not copied."""
    return parts[0] if len(parts) == 1 else torch.cat(list(parts))
