"""What a distribution metric answers: a number with the counts behind it, or the reason why there is none."""

from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict


@dataclass(frozen=True)
class Unavailable:
    """Stands where a network or a reference would be; a run goes on without it."""

    reason: str


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

    reference: str | None = None
    """Data set whose published statistics stood for the ground truths."""

    subset_size: int | None = None
    """Images per subset of a kernel distance."""
