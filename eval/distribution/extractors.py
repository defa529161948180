"""What turns images into feature vectors, row by row."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from operators.errors import InputError

Features = NDArray[np.float32]


class FeatureExtractor(Protocol):
    """Maps images (B, 3, H, W), or grey ones (B, 1, H, W), in [-1, 1] to features (B, dim), each row by itself."""

    @property
    def name(self) -> str:
        """Name of the network."""

    @property
    def dim(self) -> int:
        """Features per image."""

    def __call__(self, images: Tensor) -> Features:
        """float32 (B, dim); the row of an image with NaN or infinite values is NaN."""


@dataclass(frozen=True)
class NetworkExtractor:
    """Rounds images to 8 bits, as a PNG would, so that scoring in memory equals scoring what was saved."""

    name: str
    dim: int
    embed: Callable[[Tensor], Tensor]
    """From uint8 images (B, 3, H, W) to features (B, dim)."""

    @torch.no_grad()
    def __call__(self, images: Tensor) -> Features:
        _check_images(images)
        images = images.expand(-1, 3, -1, -1)  # a grey image is one whose three channels are equal
        rows = np.full((len(images), self.dim), np.nan, dtype=np.float32)
        finite = torch.isfinite(images).flatten(1).all(1)
        if finite.any():
            rows[finite.cpu().numpy()] = self._embed_exactly(to_bytes(images[finite])).float().cpu().numpy()
        return rows

    def _embed_exactly(self, pixels: Tensor) -> Tensor:
        """TF32 and algorithm search would let the GPU and its batch size decide the third digit."""
        with torch.backends.cudnn.flags(enabled=True, benchmark=False, deterministic=True, allow_tf32=False):
            return self.embed(pixels)


def to_bytes(images: Tensor) -> Tensor:
    """Images in [-1, 1], clamped and rounded to uint8."""
    return images.float().clamp(-1, 1).add(1).mul(127.5).round().to(torch.uint8)


def extract_features(extractor: FeatureExtractor, images: Iterable[Tensor], batch_size: int) -> Features:
    """Features (N, dim) of images (3, H, W) or batches (B, 3, H, W), in their order."""
    parts = [extractor(batch) for batch in _batches(images, batch_size)]
    return np.concatenate(parts) if parts else np.zeros((0, extractor.dim), dtype=np.float32)


def _batches(images: Iterable[Tensor], batch_size: int) -> Iterator[Tensor]:
    """Up to `batch_size` images of one size each; what comes as a batch is taken apart first."""
    waiting: list[Tensor] = []
    for image in _single(images):
        if waiting and (len(waiting) == batch_size or image.shape != waiting[0].shape):
            yield torch.stack(waiting)
            waiting = []
        waiting.append(image)
    if waiting:
        yield torch.stack(waiting)


def _single(images: Iterable[Tensor]) -> Iterator[Tensor]:
    for image in images:
        if image.ndim == 3:
            yield image
        else:
            _check_images(image)
            yield from image


def _check_images(images: Tensor) -> None:
    if images.ndim != 4 or images.shape[1] not in (1, 3) or not images.is_floating_point():
        raise InputError(
            f"images are {images.dtype} {tuple(images.shape)}: they must be floating-point (B, 3, H, W) in [-1, 1], or "
            "(B, 1, H, W) where they are grey."
        )
