"""A diffusion prior for images of another size than its own: made at its size, seen at the measurement's.

`stable-diffusion-v1-5/stable-diffusion-v1-5@256` makes images of 512x512 that are reduced to 256x256 before an operator
sees them, as the paper ran PSLD. To a method it is one more latent prior: its decoder ends in the resizing.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from g2d2.priors.base import Condition, Denoised, Diffusion, Latent, PriorFacts
from g2d2.priors.catalog import KnownPrior
from g2d2.priors.families import Family
from operators import InputError, find_signal
from operators.padding import fold, symmetric_index
from operators.super_resolution import cubic
from operators.svd import apply_per_axis

if TYPE_CHECKING:
    from g2d2.priors.base import Prior

_VERSION = 1
"""Raised when the same size gives other images: it is part of the digest."""


class Resized(Latent):
    """A prior whose images have another size, resized by an antialiased bicubic filter."""

    def __init__(self, prior: Diffusion, size: tuple[int, int]) -> None:
        super().__init__(prior.device)
        self.prior, self.signal, self.dtype = prior, prior.signal, prior.dtype
        self.alpha_bar, self.z_shape, self.decode_rows = prior.alpha_bar, prior.z_shape, prior.decode_rows
        channels, *own = prior.x_shape
        self.x_shape = (channels, *size)
        self._to_x = [resize_matrix(a, b)[None].to(self.device, self.dtype) for a, b in zip(own, size, strict=True)]
        self._from_x = [resize_matrix(b, a)[None].to(self.device, self.dtype) for a, b in zip(own, size, strict=True)]

    def condition(
        self, prompts: Sequence[str], guidance: Sequence[float], x_shapes: Sequence[Sequence[int]] | None = None
    ) -> Condition:
        return self.prior.condition(prompts, guidance)

    def denoise(self, z_t: Tensor, t: int, condition: Condition) -> Denoised:
        return self.prior.denoise(z_t, t, condition)

    def decode(self, z: Tensor) -> Tensor:
        x = self.prior.decode(z) if isinstance(self.prior, Latent) else z
        return apply_per_axis(self._to_x[0], x, self._to_x[1])

    def encode(self, x: Tensor) -> Tensor:
        own = apply_per_axis(self._from_x[0], x, self._from_x[1])
        return self.prior.encode(own) if isinstance(self.prior, Latent) else own


def resize_matrix(size: int, new: int) -> Tensor:
    """(new, size): Keys' cubic kernel, stretched where the result is smaller; rows sum to one, edges are mirrored."""
    step = size / new
    stretch = max(step, 1.0)
    reach = int(2 * stretch) + 2
    pixel = torch.arange(-reach, size + reach, dtype=torch.float64) + 0.5
    centre = (torch.arange(new, dtype=torch.float64) + 0.5) * step
    weights = cubic((pixel - centre[:, None]) / stretch)
    return fold(weights / weights.sum(1, keepdim=True), symmetric_index(size, reach), size, dim=1)


class ResizedFamily(Family):
    """A family whose priors are given another size."""

    kind = Latent

    def __init__(self, family: Family, size: tuple[int, int], source: str) -> None:
        if not issubclass(family.kind, Diffusion):
            raise InputError(
                f"prior: {source!r} asks for another size, which pixel and latent diffusion priors can be given; this "
                f"one is {family.kind.__name__.lower()}."
            )
        self.family, self.size_asked, self.name = family, size, family.name
        self.looks_for, self.hub_patterns = getattr(family, "looks_for", ""), family.hub_patterns

    def recognises(self, folder: Path) -> bool:
        return self.family.recognises(folder)

    def files(self, folder: Path) -> list[Path]:
        return self.family.files(folder)

    def digest(self, folder: Path) -> str:
        height, width = self.size_asked
        text = f"{self.family.digest(folder)}/resized {_VERSION} {width}x{height}"
        return hashlib.sha256(text.encode()).hexdigest()

    def facts(self, folder: Path) -> PriorFacts:
        facts = self.family.facts(folder)
        if facts.signal != "image":
            raise InputError(f"prior: images can be resized, and this prior makes {facts.signal}s; leave the size out.")
        return replace(facts, kind=Latent, x_shape=(facts.x_shape[0], *self.size_asked))

    def require_files(self, folder: Path) -> None:
        self.family.require_files(folder)

    def check_files(self, folder: Path) -> None:
        self.family.check_files(folder)

    def check(self, folder: Path, known: KnownPrior | None = None) -> str:
        self.family.check(folder, known)
        return self.describe(folder)["shape"]

    def describe(self, folder: Path) -> dict[str, str]:
        facts, words = self.facts(folder), self.family.describe(folder)
        return words | {"shape": f"{words['shape']}, resized to {find_signal(facts.signal).words(facts.x_shape)}"}

    def load(self, folder: Path, **options: Any) -> "Prior":
        prior = self.family.load(folder, **options)
        assert isinstance(prior, Diffusion)  # by its family's kind
        return Resized(prior, self.size_asked)
