"""What a metric of rows is: a batch in, one number per row out, and a bad row spoils only itself."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import torch
from pydantic import BaseModel, ConfigDict
from torch import Tensor

from eval.metrics.info import Direction, MetricInfo, Need
from eval.weights import Backbone
from operators import InputError, Operator
from operators.signals import find_signal


class MetricSettings(BaseModel):
    """Options of a metric; most have none."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


@dataclass(frozen=True)
class Scored:
    """What one call scores: rows of one signal and shape."""

    truth: Tensor | None
    """(B, ...), the ground truths; None where there are none."""
    x: Tensor
    """(B, ...), the reconstructions; what leaves the signal's range is clipped."""
    truth_keys: Sequence[str] | None = None
    """Rows with equal keys have equal truths, whose features are then computed once."""
    operator: Operator | None = None
    """What was measured, with 1 or B rows."""
    y: Tensor | None = None
    """(B, *y_shape), the measurements."""
    sigma: Tensor | None = None
    """(B,), the noise levels."""
    signal: str = "image"
    """What x is, by name."""

    def __post_init__(self) -> None:
        for name, batch in (("truth", self.truth), ("x", self.x)):
            if batch is not None and (batch.ndim < 2 or not batch.is_floating_point()):
                raise InputError(
                    f"{name} is {batch.dtype} of shape {tuple(batch.shape)}: it must be a floating-point (B, ...)."
                )
        if self.truth is not None and self.truth.shape != self.x.shape:
            raise InputError(
                f"x has shape {tuple(self.x.shape)} and truth {tuple(self.truth.shape)}: they must have the same."
            )
        find_signal(self.signal).check_shape(tuple(self.x.shape[1:]))
        if self.sigma is not None and self.sigma.ndim != 1:
            raise InputError(f"sigma has shape {tuple(self.sigma.shape)}: it must be ({len(self)},), one per row.")
        for name, rows in (("truth_keys", self.truth_keys), ("y", self.y), ("sigma", self.sigma)):
            if rows is not None and len(rows) != len(self):
                raise InputError(f"{name} has {len(rows)} entries: it must have one per row, {len(self)}.")

    def __len__(self) -> int:
        return self.x.shape[0]


class RowMetric:
    """One number per row. A subclass says what it is by class attributes and implements `rows`."""

    name: ClassVar[str]
    """Its column in every table: letters, digits and underscores."""
    direction: ClassVar[Direction] = "none"
    """Which way is better."""
    unit: ClassVar[str] = ""
    summary: ClassVar[str] = ""
    digits: ClassVar[int] = 3
    """Decimals that are shown."""
    tolerance: ClassVar[float | str | None] = None
    """A loss that the gate allows by default: 0.1 in its own unit, or `"2%"` of the mean."""
    share: ClassVar[bool] = False
    """Whether it is a share of something, from 0 to 1: so is the interval of its mean."""
    needs: ClassVar[tuple[Need, ...]] = ("truth",)
    """What it reads besides x: of `truth`, `y`, `sigma` and `operator`."""
    signals: ClassVar[tuple[str, ...] | None] = None
    """Signals it can score; None: any."""
    least_side: ClassVar[int] = 1
    """Pixels that an image must have along each side."""
    backbone: ClassVar[Backbone | None] = None
    """The network whose weights it loads."""
    Settings: ClassVar[type[MetricSettings]] = MetricSettings

    def __init__(self, settings: Any, device: torch.device) -> None:
        self.device = device

    @classmethod
    def info(cls, source: str = "") -> MetricInfo:
        """What the class says of itself; `source` is what a specification called it."""
        own: dict[str, Any] = {one.name: getattr(cls, one.name) for one in fields(MetricInfo) if hasattr(cls, one.name)}
        return MetricInfo(**{"name": ""} | own | {"source": "" if source == own.get("name") else source})

    @torch.no_grad()
    def __call__(self, scored: Scored) -> Tensor:
        """(B,) float64 on the CPU; NaN where a row cannot be scored."""
        if not len(scored):
            return torch.zeros(0, dtype=torch.float64)
        missing = [need for need in self.needs if getattr(scored, need) is None]
        if missing:
            raise InputError(f"{self.name}: {' and '.join(missing)} must be given; it cannot be computed without.")
        if self.signals is not None and scored.signal not in self.signals:
            raise InputError(f"{self.name}: it scores {', '.join(self.signals)}, and x is {scored.signal}.")
        good = torch.tensor([problem is None for problem in signal_problems(scored)])
        clip, keep = find_signal(scored.signal).clip, good.view(-1, *[1] * (scored.x.ndim - 1))
        x = clip(torch.where(keep.to(scored.x.device), scored.x, 0)).to(self.device)
        if scored.truth is None:
            truth = x.new_full((), torch.nan).expand_as(x)
        else:
            truth = clip(torch.where(keep.to(scored.truth.device), scored.truth, 0)).to(self.device)
        values = self.rows(truth, x, scored)
        return torch.where(good, values.detach().double().cpu(), torch.nan)

    def rows(self, truth: Tensor, x: Tensor, scored: Scored) -> Tensor:
        """(B,) values of clean rows; `scored` has the rest. Where rows have no truth, `truth` is NaN throughout."""
        raise NotImplementedError


def row_problems(scored: Scored) -> list[str | None]:
    """What is wrong with each row, None where nothing is."""
    of_y: list[str | None] = [None] * len(scored)
    if scored.y is not None:
        of_y = [_non_finite("y", count) for count in _count_non_finite(scored.y)]
    return [own or measured for own, measured in zip(signal_problems(scored), of_y, strict=True)]


def signal_problems(scored: Scored) -> list[str | None]:
    """What is wrong with each row's truth or reconstruction: such a row has no score at all."""
    truths: list[str | None] = [None] * len(scored)
    if scored.truth is not None:
        signal, counts = find_signal(scored.signal), _count_non_finite(scored.truth)
        truths = [
            _non_finite("truth", count) or _about_truth(signal.problem(row))
            for count, row in zip(counts, scored.truth, strict=True)
        ]
    found = [_non_finite("reconstruction", count) for count in _count_non_finite(scored.x)]
    return [of_truth or of_x for of_truth, of_x in zip(truths, found, strict=True)]


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


def _about_truth(problem: str | None) -> str | None:
    """A signal speaks of `it`."""
    return None if problem is None else f"truth {problem.removeprefix('it ')}"
