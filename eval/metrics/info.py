"""What is known of a metric without computing it: which way is better, its unit, how it is shown, what it needs."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

if TYPE_CHECKING:
    from eval.weights import Backbone

Direction = Literal["higher", "lower", "none"]
Need = Literal["truth", "y", "sigma", "operator"]

_STORED = ("name", "direction", "unit", "summary", "digits", "tolerance")
_OPTIONAL = ("share", "source")
"""Left out of the metadata where they say nothing, as tables of before they were known have it."""
_MOST_DIGITS = 12


@dataclass(frozen=True)
class MetricInfo:
    """All that tables, gates and reports say about a metric; the first six stand in a scored table's metadata."""

    name: str
    """Its column."""
    direction: Direction = "none"
    """Which way is better; nothing ranks by a metric of `none`."""
    unit: str = ""
    summary: str = ""
    digits: int = 3
    """Decimals that are shown."""
    tolerance: float | str | None = None
    """A loss that the gate allows by default: 0.1 in its own unit or `"2%"` of the mean; None: judged if asked for."""
    needs: tuple[Need, ...] = ("truth",)
    """What it reads besides the reconstruction."""
    signals: tuple[str, ...] | None = None
    """Signals it can score; None: any."""
    least_side: int = 1
    """Pixels that an image must have along each side."""
    backbone: "Backbone | None" = None
    """The network whose weights must be on the machine that scores."""
    share: bool = False
    """Whether it is a share of something, from 0 to 1: so is the interval of its mean."""
    source: str = ""
    """As a specification names it, where that is not its column: `module:thing`."""

    @property
    def named(self) -> str:
        """As a specification names it."""
        return self.source or self.name

    def scores(self, signal: str) -> bool:
        """Whether it can score such x."""
        return self.signals is None or signal in self.signals

    def facts(self) -> dict[str, Any]:
        """As the metadata of a scored table keeps it."""
        own = {name: value for name in _OPTIONAL if (value := getattr(self, name))}
        return {name: getattr(self, name) for name in _STORED} | own

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> Self:
        """The metric that a scored table's metadata describes; a ValueError where it describes none."""
        own = {name: facts[name] for name in _OPTIONAL if name in facts}
        info = cls(**{name: facts[name] for name in _STORED}, **own)
        if problem := info.problem():
            raise ValueError(problem)
        return info

    def problem(self) -> str | None:
        """What is wrong with it, as the end of a sentence about the metric; None where nothing is."""
        if not isinstance(self.name, str) or not self.name.isidentifier():
            return f"has the name {self.name!r}: it must be letters, digits and underscores"
        if self.direction not in get_args(Direction):
            return f"has the direction {self.direction!r}: it must be one of {', '.join(get_args(Direction))}"
        if not isinstance(self.digits, int) or not 0 <= self.digits <= _MOST_DIGITS:
            return f"has digits {self.digits!r}: it must be a whole number from 0 to {_MOST_DIGITS}"
        if not isinstance(self.share, bool):
            return f"has share {self.share!r}: it must be True or False"
        if isinstance(self.needs, str) or not set(self.needs) <= set(get_args(Need)):
            return f"needs {self.needs!r}: it must be a tuple of {', '.join(get_args(Need))}, or empty"
        if self.tolerance is not None and self.direction == "none":
            return "has a tolerance: without a direction it cannot be judged"
        if self.tolerance is not None and not _is_tolerance(self.tolerance):
            return f"has the tolerance {self.tolerance!r}: it must be a number at least 0, or a percentage such as '2%'"
        return None


def _is_tolerance(written: float | str) -> bool:
    size = tolerance_size(written)
    return size is not None and all(0 <= value < math.inf for value in size.values())


def tolerance_size(written: float | str) -> dict[str, float] | None:
    """`absolute` or `relative` with its size, as people write it: 0.1 or `2%`; None where it is neither."""
    text = str(written)
    try:
        return {"relative": float(text[:-1]) / 100} if text.endswith("%") else {"absolute": float(text)}
    except ValueError:
        return None


COSTS = {
    "seconds": MetricInfo("seconds", "lower", "s", "time of one reconstruction", 2, needs=()),
    "peak_bytes": MetricInfo("peak_bytes", "lower", "bytes", "most memory that its batch took", 0, needs=()),
}
"""Measured while solving; they stand beside the metrics and depend on the machine, so nothing ranks by them."""
