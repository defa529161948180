"""What a distribution metric answers: a number with the counts behind it, or the reason why there is none."""

from dataclasses import dataclass, field

from pydantic import BaseModel, ConfigDict


@dataclass(frozen=True)
class Unavailable:
    """Stands where a network or a reference would be; a run goes on without it."""

    reason: str


@dataclass(frozen=True)
class CellDistance:
    """A distance of one grid cell, with how many of its images it is over."""

    name: str
    value: float | None
    images: int
    expected: int
    """Images that the cell would have if all were solved and scored."""

    unavailable: str | None = None
    interval: float | None = field(default=None, repr=False)
    """Half the width of its 95 % interval, where it is a mean over random groups or pairs."""
    of_truth: float | None = field(default=None, repr=False)
    """The same number of the truths, where they have one."""

    @property
    def whole(self) -> bool:
        """Over all images of the cell: only such values can be held against other cells'."""
        return self.value is not None and self.images == self.expected

    def __str__(self) -> str:
        """`12.3`, `12.3 (over 12 of 16 images)`, `0.61 ± 0.02`, or `-` where there is none."""
        if self.value is None:
            return "-"
        words = f"{self.value:.3f}" + ("" if self.interval is None else f" ± {self.interval:.3f}")
        return words + ("" if self.whole else f" (over {self.images} of {self.expected} images)")

    def problem(self) -> str | None:
        """Why it is not what it should be."""
        if self.whole:
            return None
        if self.value is None:
            return self.unavailable or "it is not finite"
        return f"it is over {self.images} of {self.expected} images"


class DistributionResult(BaseModel):
    """One distance between two sets of images."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    name: str
    """Registry name of the metric."""

    value: float | None = None
    """The distance, lower is better; None if it could not be computed."""

    unavailable: str | None = None
    """Why there is no value."""

    note: str | None = None
    """What to know before comparing the value."""

    count_truth: int | None = None
    """Ground truths that took part; None if a published reference does not say, or nothing was counted."""

    count_images: int | None = None
    """Images that took part; None if nothing was counted."""

    left_out_truth: int = 0
    """Ground truths left out because a value was NaN or infinite."""

    left_out_images: int = 0
    """Images left out because a value was NaN or infinite."""

    interval: float | None = None
    """Half the width of the value's 95 % interval, where it is a mean over random groups or pairs."""

    of_truth: float | None = None
    """The same number of the ground truths, where they have one."""

    reference: str | None = None
    """Data set whose published statistics stood for the ground truths."""

    subset_size: int | None = None
    """Images per subset of a kernel distance."""
