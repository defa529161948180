"""How much worse a metric may become before it counts; the defaults are what each metric says of itself."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from eval.metrics import MetricInfo, column_info
from eval.metrics.info import tolerance_size
from operators import InputError, validate

Direction = Literal["higher", "lower"]


class Tolerance(BaseModel):
    """A change of a metric's mean that nobody would mind, either absolute or relative."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, use_attribute_docstrings=True)

    direction: Direction
    """Which way is better."""

    absolute: float | None = Field(default=None, ge=0)
    """In the metric's own unit."""

    relative: float | None = Field(default=None, ge=0)
    """As a fraction of the baseline's mean: 0.02 is 2 %."""

    confidence: float = Field(default=0.95, gt=0, lt=1)
    """Of the interval, and of never calling a regression where nothing changed."""

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if (self.absolute is None) == (self.relative is None):
            raise ValueError("give exactly one of absolute and relative")
        return self

    @property
    def sign(self) -> int:
        """Turns a difference into a gain."""
        return 1 if self.direction == "higher" else -1

    def size(self, baseline_mean: float) -> float:
        """The tolerance in the metric's own unit."""
        return self.absolute if self.absolute is not None else (self.relative or 0.0) * abs(baseline_mean)

    def __str__(self) -> str:
        return f"{self.absolute:g}" if self.absolute is not None else f"{100 * (self.relative or 0.0):g}%"


def default_tolerances(
    metrics: Collection[str], confidence: float = 0.95, info: Callable[[str], MetricInfo] = column_info
) -> dict[str, Tolerance]:
    """The defaults of those of the metrics that have one; `info` says what is known of each, as `ScoreTable.info`."""
    chosen = {name: own for name in metrics if (own := _own_tolerance(info(name), confidence)) is not None}
    if not chosen:
        raise InputError(
            f"tolerances: no metric has one of its own; name some; the baseline has "
            f"{', '.join(metrics) or 'no metrics'}."
        )
    return chosen


def _own_tolerance(info: MetricInfo, confidence: float = 0.95) -> Tolerance | None:
    """What a metric says of itself. Time, memory and residuals say nothing: they are judged when asked for."""
    size = None if info.tolerance is None else tolerance_size(info.tolerance)
    if size is None:
        return None
    return checked_tolerance({"direction": info.direction, "confidence": confidence, **size}, info.name)


def parse_tolerances(
    words: Sequence[str], confidence: float = 0.95, info: Callable[[str], MetricInfo] = column_info
) -> dict[str, Tolerance]:
    """`psnr=0.1`, `lpips_vgg=2%`; of a metric that nobody knows also which way is better: `sharpness:higher=0.5`."""
    found: dict[str, Tolerance] = {}
    for word in words:
        key, equals, text = word.partition("=")
        metric, _, said = key.partition(":")
        if not equals or not metric:
            raise InputError(f"tolerance: {word!r} is not METRIC=NUMBER or METRIC=PERCENT%.")
        if metric in found:
            raise InputError(f"tolerance: {metric!r} is given twice; give it once.")
        direction = said or info(metric).direction
        if direction == "none":  # also a residual, of which neither more nor less is better by itself
            raise InputError(
                f"tolerance: whether more of {metric!r} is better is unknown; write {metric}:higher={text} or "
                f"{metric}:lower={text}."
            )
        size = tolerance_size(text)
        if size is None:
            raise InputError(f"tolerance: {word!r} is not METRIC=NUMBER or METRIC=PERCENT%.")
        found[metric] = checked_tolerance({"direction": direction, "confidence": confidence, **size}, metric)
    return found


def checked_tolerance(values: Tolerance | Mapping[str, Any], metric: str) -> Tolerance:
    """A tolerance from a settings file or from Python."""
    return validate(Tolerance, values, where=f"tolerance of {metric}")
