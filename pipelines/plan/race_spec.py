"""The key `race` of a specification: cells that are beaten beyond doubt leave before they have seen everything."""

from collections.abc import Iterable, Mapping
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from eval.distribution import distribution_names
from eval.metrics import metric_info
from eval.racing import Margin, default_margin
from operators.plain_yaml import LARGEST_INTEGER
from operators.validation import AtKeyError, did_you_mean

SAFE = "safe"
"""`race: safe` stands for all defaults."""
REST = "rest"
_ALPHA = 0.05


class Race(BaseModel):
    """All cells see the same measurements in one random order; after each round those leave that are beaten."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True)

    metrics: list[str] = []
    """Of the sweep's row metrics, what is raced by; a cell leaves when it is beaten in all of them, and the first says
    who wins. By default the first that has a better and a worse."""
    delta: dict[str, float] = {}
    """By metric, how much better than the winner a lost cell may have been. Defaults: psnr 0.05, ssim 0.002,
    LPIPS 0.003, path_error 0.01."""
    bound: dict[str, float] = {}
    """By metric, the largest difference that counts; larger ones are clipped. Defaults: psnr 4, ssim 0.3, LPIPS 0.3,
    path_error 2."""
    alpha: float = Field(default=_ALPHA, gt=0, lt=1)
    """Probability, at most, that the best cell is lost to one more than `delta` worse."""
    budget: float | None = Field(default=None, gt=0, lt=1)
    """Successive halving instead, at this share of the whole grid's cost: cheaper, and nothing is promised."""
    round: int = Field(default=8, gt=0)
    """Measurements between two decisions."""
    confirm: int | Literal["rest"] | None = None
    """Measurements of each task that take no part, on which the winner is solved when the race is over: so many, or
    `rest` for all that it left over. By default a quarter of them, at most 128."""
    among: Literal["task", "arm"] = "task"
    """Who races against whom: all cells of a task, or those of each of its arms by themselves."""
    seed: int = Field(default=0, ge=-LARGEST_INTEGER, le=LARGEST_INTEGER)
    """Decides the order of the measurements."""

    @field_validator("confirm", mode="before")
    @classmethod
    def _some_or_rest(cls, value: object) -> object:
        if value in (None, REST) or (isinstance(value, int) and not isinstance(value, bool) and value >= 0):
            return value
        raise ValueError(f"it must be {REST} or a whole number from 0")

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if self.budget is not None and (self.delta or self.bound or self.alpha != _ALPHA):
            raise ValueError("alpha, delta and bound are of a safe race; budget is of one that promises nothing")
        return self

    def set_aside(self, measurements: int) -> int:
        """How many of a task's measurements wait for the winner."""
        if isinstance(self.confirm, int):
            return self.confirm
        return 0 if self.confirm == REST else min(128, measurements // 4)

    def raced(self, metrics: Iterable[str]) -> list[str]:
        """What is raced by, as the specification names it; empty where none of the sweep's metrics can be."""
        judged = [name for name in metrics if metric_info(name).direction != "none"]
        return self.metrics or judged[:1]

    def margins(self, metrics: Iterable[str]) -> dict[str, Margin]:
        """Of what is raced by, under the columns of the metrics."""
        return {metric_info(name).name: self._margin(name) for name in self.raced(metrics)}

    def _margin(self, name: str) -> Margin:
        if self.budget is not None:
            return Margin(0.0, 1.0)  # nothing is bet
        usual = default_margin(metric_info(name).name)
        delta = self.delta.get(name, None if usual is None else usual.delta)
        bound = self.bound.get(name, None if usual is None else usual.bound)
        if delta is None or bound is None:
            key = "delta" if delta is None else "bound"
            raise AtKeyError(
                f"{key} of {name} is missing: only psnr, ssim, LPIPS and path_error have a usual one", "race", key
            )
        if delta >= bound:
            raise AtKeyError(
                f"race.delta.{name} is {delta:g}: it must be below race.bound.{name}, {bound:g}, the largest "
                "difference that counts",
                "race", "delta" if name in self.delta else "bound", name,
            )  # fmt: skip
        return Margin(delta, bound)

    def check(self, metrics: list[str], distribution: list[str]) -> None:
        """Refuse what cannot be raced by."""
        for index in range(len(self.metrics)):
            message = self._unfit(index, metrics, distribution)
            if message is not None:
                raise AtKeyError(f"race.metrics: {message}", "race", "metrics", index)
        if not self.raced(metrics):
            raise AtKeyError("none of the sweep's metrics has a better and a worse to race by", "race")
        for key, given in {"delta": self.delta, "bound": self.bound}.items():
            _refuse_values(key, given, self.raced(metrics))
        self.margins(metrics)

    def check_search(self) -> None:
        """Refuse a race in which no search can propose its cells."""
        if self.budget is not None:
            raise AtKeyError(
                f"race.budget is {self.budget:g}: a search needs a safe race, without it", "race", "budget"
            )
        if self.among != "task":
            raise AtKeyError("race.among is 'arm': a search has one race and needs 'task'", "race", "among")

    def _unfit(self, index: int, metrics: list[str], distribution: list[str]) -> str | None:
        """Why one of the metrics cannot be raced by."""
        name = self.metrics[index]
        if name in (*distribution, *distribution_names()):
            return f"{name} is of all images of a cell at once and cannot be raced by; a metric of each image can"
        if name in self.metrics[:index]:
            return f"{name} is there twice; once is enough"
        if name not in metrics:
            near = did_you_mean(name, metrics)
            return f"{name!r}{near}: each must be one of the sweep's metrics, which are {', '.join(metrics)}"
        if metric_info(name).direction == "none":
            return f"{name} has no better and worse to race by"
        return None


def _refuse_values(key: str, given: Mapping[str, float], raced: list[str]) -> None:
    for name, value in given.items():
        if name not in raced:
            near = did_you_mean(name, raced)
            raise AtKeyError(
                f"race.{key}: {name!r}{near} is not raced by; it must be of {', '.join(raced)}", "race", key, name
            )
        if value < 0 or (key == "bound" and value == 0):
            allowed = "above 0" if key == "bound" else "at least 0"
            raise AtKeyError(f"race.{key}.{name} is {value:g}: it must be {allowed}", "race", key, name)
