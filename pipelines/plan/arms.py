"""An arm of a specification: a method on a prior, with settings and a grid of its own."""

from typing import TYPE_CHECKING, Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from g2d2.methods import METHODS, find_method
from operators.validation import AtKeyError, did_you_mean
from pipelines.plan.grid import Grid, require_axes, require_setting

if TYPE_CHECKING:
    from g2d2.methods import Method

TUNED = "tuned"
SHIPPED = (TUNED, "fast", "best", "protocol")
"""Presets that ship with a prior, per task."""


class Choice(BaseModel):
    """How measurements are restored: a method and where its settings start from."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True)

    method: str = Field(default="g2d2", examples=list(METHODS.names()))
    """Method by name, or `module:thing` for one of your own."""
    preset: str | None = None
    """A preset of the method, or one that ships with the prior, per task: `tuned`, `fast`, `best` or `protocol`; the
    method's first when left out."""
    experiment: str | None = None
    """A row of a paper's table of hyper-parameters, on top of a preset of the method."""
    settings: dict[str, Any] = {}
    """Changes that hold for the whole arm."""

    @model_validator(mode="after")
    def _known(self) -> Self:
        if not METHODS.known(self.method):
            raise AtKeyError(str(METHODS.refusal(self.method)).rstrip("."), "method")
        method = self.load_method()
        for name in self.settings:
            require_setting(method, name, "settings")
        known = (*SHIPPED, *method.presets)
        if self.preset not in (None, *known):
            near = did_you_mean(str(self.preset), known)
            raise AtKeyError(f"preset {self.preset!r}{near} must be one of {', '.join(known)}", "preset")
        table = method.experiments.get(self.preset or next(iter(method.presets)), {})
        if self.experiment is not None and self.experiment not in table:
            raise AtKeyError(self._no_experiment(method), "experiment")
        return self

    def load_method(self) -> "Method[Any, Any]":
        """The method itself."""
        return find_method(self.method)

    def _no_experiment(self, method: "Method[Any, Any]") -> str:
        presets = [preset for preset, rows in method.experiments.items() if rows]
        if not presets:
            return f"experiment {self.experiment!r}: method {self.method!r} has no experiments; leave it out"
        rows = list(dict.fromkeys(row for preset in presets for row in method.experiments[preset]))
        near = did_you_mean(str(self.experiment), rows)
        return f"experiment {self.experiment!r}{near} needs preset {' or '.join(presets)} and one of {', '.join(rows)}"


class Arm(Choice):
    """One side of a comparison: a method on a prior, with settings and a grid of its own."""

    prior: str | None = None
    """Name, folder, hub id, or `module:thing`; the specification's when left out, none where a method takes none."""
    grid: Grid = Grid()
    """What varies within the arm."""

    @model_validator(mode="after")
    def _known_axes(self) -> Self:
        require_axes(self.grid, self.load_method(), "grid")
        return self


def arm_label(value: object) -> str:
    """The name of an arm that stands for one value of a setting."""
    return f"{value:g}" if isinstance(value, float) else str(value)
