"""What a manifest of motions is built from, as typed settings."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from operators import InputError
from operators.registry import OPERATORS
from operators.skeleton.joint_names import LONGEST
from operators.tasks import LARGEST_SIGMA
from operators.validation import did_you_mean, shorten
from pipelines.manifest.schema import safe_id

MOTION = "motion"

PATH_TASKS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "path-1": {"keyframes": 1},
        "path-2": {"keyframes": 2},
        "path-5": {"keyframes": 5},
        "path-25pct": {"keyframes": "25%"},
        "path-all": {"keyframes": "all"},
    }
)
"""Path following at the densities of published tables: counts of key frames, a share of them, or all."""


class MotionSettings(BaseModel):
    """Clips or drawn paths, what is measured of each, and their prompts."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, use_attribute_docstrings=True, allow_inf_nan=False, protected_namespaces=()
    )

    source: str
    """HumanML3D folder, folder of .bvh or .npy files, Parquet of joints, a .csv of x and z, or a path's name."""

    tasks: tuple[str, ...] = ()
    """Tasks by name, such as path-5: each measures every clip."""

    operator: str | None = None
    """One operator by name, or `module:thing`, instead of tasks; default: `path`."""

    params: dict[str, Any] = Field(default_factory=dict)
    """Settings of `operator`."""

    sigma: float = Field(default=0.0, ge=0, le=LARGEST_SIGMA)
    """Noise on measured positions, in metres; drawn paths have none."""

    seed: int = 0
    """Decides key frames and noise, together with each row's id."""

    split: str | None = None
    """Only the clips that SPLIT.txt in a HumanML3D folder lists."""

    prompt_column: str | None = None
    """Column of prompts in a Parquet of joints."""

    prompt: str | None = None
    """One prompt for all."""

    prompt_template: str | None = None
    """A prompt with {label} or another column's name in braces."""

    prompts: tuple[str, ...] | None = None
    """Prompts of drawn paths, each for every path."""

    limit: int | None = Field(default=None, ge=1)
    """Only the first so many clips or paths."""

    per_label: int | None = Field(default=None, ge=1)
    """Only the first so many clips of every label."""

    fps: float | None = Field(default=None, gt=0)
    """Frames per second of BVH files and arrays of joints, instead of what the files say."""

    cut: bool = False
    """Cut longer clips into parts of 196 frames, which are refused otherwise."""

    frames: int = Field(default=LONGEST, ge=20, le=LONGEST)
    """Frames of drawn paths."""

    rows_per_shard: int = Field(default=1000, ge=1)
    """Most rows of a Parquet file."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.tasks and self.operator:
            raise ValueError("give either tasks or an operator")
        if self.tasks and self.params:
            raise ValueError("params go with an operator: a task has its own")
        if len(set(self.tasks)) < len(self.tasks):
            raise ValueError(f"tasks are {', '.join(self.tasks)}: name each once")
        given = (self.prompt, self.prompt_column, self.prompt_template, self.prompts)
        if sum(one is not None for one in given) > 1:
            raise ValueError("give only one of prompt, prompts, prompt_column and prompt_template")
        return self

    def measured(self) -> dict[str, tuple[str, dict[str, Any]]]:
        """Operator and its settings by the name of the task."""
        for name in self.tasks:
            if name not in PATH_TASKS:
                raise InputError(
                    f"tasks: {shorten(name)} is unknown{did_you_mean(name, PATH_TASKS)}; tasks of motions are "
                    f"{', '.join(PATH_TASKS)}."
                )
        if self.tasks:
            return {name: ("path", dict(PATH_TASKS[name])) for name in self.tasks}
        name = self.operator or "path"
        cls = OPERATORS.find(name)
        if cls.signal != MOTION:
            raise InputError(f"operator: {name} measures the signal {cls.signal!r} and these are motions.")
        return {safe_id(cls.name): (name, dict(self.params))}
