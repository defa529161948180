"""What a per-image metric is: a batch in, one number per row out, and a bad row spoils only itself."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from pydantic import BaseModel, ConfigDict
from torch import Tensor

from eval.metrics.registry import Direction
from operators import InputError, Operator

TRUTH_TOLERANCE = 1e-3
"""A ground truth may leave [-1, 1] by this much before its row counts as bad."""


class MetricSettings(BaseModel):
    """Options of a metric; most have none."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


@dataclass(frozen=True)
class Scored:
    """What one call scores."""

    truth: Tensor
    """(B, C, H, W) in [-1, 1]."""
    images: Tensor
    """(B, C, H, W), the reconstructions; what leaves [-1, 1] is clamped."""
    truth_keys: Sequence[str] | None = None
    """Rows with equal keys have equal truths, whose features are then computed once."""
    operator: Operator | None = None
    """What was measured, with 1 or B rows; needed by residuals."""
    y: Tensor | None = None
    """(B, *measurement_shape), needed by residuals."""
    sigma: Tensor | None = None
    """(B,), the noise level; needed by `residual`."""

    def __post_init__(self) -> None:
        for name, batch in (("truth", self.truth), ("images", self.images)):
            if batch.ndim != 4 or not batch.is_floating_point():
                raise InputError(
                    f"{name} is {batch.dtype} of shape {tuple(batch.shape)}: it must be a floating-point (B, C, H, W)."
                )
        if self.truth.shape != self.images.shape:
            raise InputError(
                f"images has shape {tuple(self.images.shape)} and truth {tuple(self.truth.shape)}: "
                "they must have the same."
            )
        if self.sigma is not None and self.sigma.ndim != 1:
            raise InputError(f"sigma has shape {tuple(self.sigma.shape)}: it must be ({len(self)},), one per row.")
        for name, rows in (("truth_keys", self.truth_keys), ("y", self.y), ("sigma", self.sigma)):
            if rows is not None and len(rows) != len(self):
                raise InputError(f"{name} has {len(rows)} entries: it must have one per row, {len(self)}.")

    def __len__(self) -> int:
        return self.images.shape[0]


class Metric(Protocol):
    """One number per image."""

    name: str
    direction: Direction
    """Which way is better."""
    unit: str

    def __call__(self, scored: Scored) -> Tensor:
        """(B,) float64 on the CPU; NaN where a row cannot be scored."""


class RowMetric:
    """The common part of metrics: subclasses see clean rows in [-1, 1], bad rows come out as NaN."""

    def __init__(self, name: str, direction: Direction, unit: str, device: torch.device) -> None:
        self.name, self.direction, self.unit, self.device = name, direction, unit, device

    @torch.no_grad()
    def __call__(self, scored: Scored) -> Tensor:
        if not len(scored):
            return torch.zeros(0, dtype=torch.float64)
        good = torch.tensor([problem is None for problem in image_problems(scored)])
        keep = good[:, None, None, None]
        truth = torch.where(keep.to(scored.truth.device), scored.truth, 0).clamp(-1, 1)
        images = torch.where(keep.to(scored.images.device), scored.images, 0).clamp(-1, 1)
        values = self.rows(truth.to(self.device), images.to(self.device), scored)
        return torch.where(good, values.detach().double().cpu(), torch.nan)

    def rows(self, truth: Tensor, images: Tensor, scored: Scored) -> Tensor:
        """(B,) values of clean images; `scored` has the rest."""
        raise NotImplementedError


def row_problems(scored: Scored) -> list[str | None]:
    """What is wrong with each row, None where nothing is."""
    of_y: list[str | None] = [None] * len(scored)
    if scored.y is not None:
        of_y = [_non_finite("y", count) for count in _count_non_finite(scored.y)]
    return [image or measured for image, measured in zip(image_problems(scored), of_y, strict=True)]


def image_problems(scored: Scored) -> list[str | None]:
    """What is wrong with each row's pictures: such a row has no score at all."""
    excess = (scored.truth.abs() - 1).flatten(1).amax(1).tolist() if scored.truth.numel() else [0.0] * len(scored)
    bad_truth, bad_images = _count_non_finite(scored.truth), _count_non_finite(scored.images)
    return [
        _non_finite("truth", in_truth) or _non_finite("reconstruction", in_image) or _too_large(over)
        for in_truth, in_image, over in zip(bad_truth, bad_images, excess, strict=True)
    ]


def row_chunks(images: Tensor, pixels: int) -> Iterator[slice]:
    """Slices of a batch with at most about `pixels` pixels each: a large batch must not need large memory."""
    step = max(1, pixels // max(1, images.shape[-1] * images.shape[-2]))
    for start in range(0, images.shape[0], step):
        yield slice(start, start + step)


def _count_non_finite(batch: Tensor) -> list[int]:
    counts: list[int] = (~torch.isfinite(batch)).flatten(1).sum(1).tolist()
    return counts


def _non_finite(what: str, count: int) -> str | None:
    return f"{what} has {count} NaN or infinite values: every value must be finite" if count else None


def _too_large(excess: float) -> str | None:
    if excess <= TRUTH_TOLERANCE:
        return None
    return f"truth leaves [-1, 1] by {excess:.3g}: at most {TRUTH_TOLERANCE:g} is allowed"
