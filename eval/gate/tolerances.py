"""How much worse a metric may become before it counts, and the defaults, all in this place."""

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from eval.metrics import metric_info, metric_names
from operators import InputError, validate

Direction = Literal["higher", "lower"]

_COSTS = ("seconds", "peak_bytes")


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


# Time and memory depend on the machine, and a residual below the noise is no gain: they are judged when asked for.
DEFAULT_TOLERANCES: Mapping[str, Tolerance] = MappingProxyType(
    {
        "psnr": Tolerance(direction="higher", absolute=0.1),
        "ssim": Tolerance(direction="higher", absolute=0.005),
        "lpips_vgg": Tolerance(direction="lower", relative=0.02),
        "lpips_alex": Tolerance(direction="lower", relative=0.02),
    }
)


def default_tolerances(metrics: Collection[str], confidence: float = 0.95) -> dict[str, Tolerance]:
    """The defaults for those of the metrics that have one."""
    chosen = {metric: tolerance for metric, tolerance in DEFAULT_TOLERANCES.items() if metric in metrics}
    if not chosen:
        raise InputError(
            f"tolerances: none of the defaults ({', '.join(DEFAULT_TOLERANCES)}) applies; the baseline has "
            f"{', '.join(metrics) or 'no metrics'}."
        )
    return {m: checked_tolerance({**t.model_dump(), "confidence": confidence}, m) for m, t in chosen.items()}


def parse_tolerances(words: Sequence[str], confidence: float = 0.95) -> dict[str, Tolerance]:
    """`psnr=0.1`, `lpips_vgg=2%`; a metric of one's own also says which way is better: `sharpness:higher=0.5`."""
    found: dict[str, Tolerance] = {}
    for word in words:
        key, equals, text = word.partition("=")
        metric, _, said = key.partition(":")
        if not equals or not metric:
            raise InputError(f"tolerance: {word!r} is not METRIC=NUMBER or METRIC=PERCENT%.")
        if metric in found:
            raise InputError(f"tolerance: {metric!r} is given twice; give it once.")
        direction = said or _known_direction(metric)
        if direction is None:
            raise InputError(
                f"tolerance: whether more of {metric!r} is better is unknown; write {metric}:higher={text} or "
                f"{metric}:lower={text}."
            )
        size = {"relative": _number(text[:-1], word) / 100} if text.endswith("%") else {"absolute": _number(text, word)}
        found[metric] = checked_tolerance({"direction": direction, "confidence": confidence, **size}, metric)
    return found


def checked_tolerance(values: Tolerance | Mapping[str, Any], metric: str) -> Tolerance:
    """A tolerance from a settings file or from Python."""
    return validate(Tolerance, values, where=f"tolerance of {metric}")


def _known_direction(metric: str) -> str | None:
    """None also for a residual, of which neither more nor less is better by itself."""
    if metric in _COSTS:
        return "lower"
    known = metric_info(metric).direction if metric in metric_names() else "none"
    return None if known == "none" else known


def _number(text: str, word: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"tolerance: {word!r} is not METRIC=NUMBER or METRIC=PERCENT%.") from None
