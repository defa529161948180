"""What a manifest is built from, as typed settings."""

from argparse import Namespace
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from operators import InputError
from operators.colours import Background
from operators.registry import OPERATORS
from pipelines.console.options import Degradation, degradation
from pipelines.manifest.schema import IMAGE, safe_id


class BuildSettings(BaseModel):
    """Sources, the measurements to make of each, and their prompts."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, use_attribute_docstrings=True, allow_inf_nan=False, protected_namespaces=()
    )

    source: str
    """Folder of pictures, Parquet file or folder, CSV file, or the name `cifar10-heldout`; a path or s3:// URL."""

    tasks: tuple[str, ...] = ()
    """Tasks by name: each measures every source."""

    operator: str | None = None
    """One operator by name, or `module:thing`, instead of tasks."""

    params: dict[str, Any] = Field(default_factory=dict)
    """Settings of `operator`."""

    sigma: float = Field(default=0.05, ge=0)
    """Noise level of `operator` on images in [-1, 1]."""

    image_size: int | None = Field(default=None, ge=1)
    """Height and width for `operator`; None takes every picture as it is."""

    seed: int = 0
    """Decides all noise, together with each row's id."""

    image_column: str | None = None
    """Column of encoded pictures (default `image`) or, in a CSV, of their paths (default `image_path`)."""

    id_column: str | None = None
    """Column of ids (default: `id` if there is one; otherwise rows are numbered, or named by their picture's path)."""

    label_column: str | None = None
    """Column of labels (default: `label` if there is one)."""

    prompt_column: str | None = None
    """Column of prompts (default: `prompt` or `caption` if there is one, else no prompt)."""

    prompt: str | None = None
    """One prompt for all."""

    prompt_template: str | None = None
    """A prompt with {label} or another column's name in braces."""

    limit: int | None = Field(default=None, ge=1)
    """Only the first so many sources."""

    per_label: int | None = Field(default=None, ge=1)
    """Only the first so many sources of every label."""

    resize: bool = False
    """Crop and resize pictures of another size, which are refused otherwise."""

    grey: bool = False
    """Pictures with one channel, for a prior of grey images."""

    background: Background | None = None
    """Put behind transparent pictures, which are refused otherwise."""

    rows_per_shard: int = Field(default=1000, ge=1)
    """Most rows of a Parquet file; one of large measurements ends earlier."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if bool(self.tasks) == bool(self.operator):
            raise ValueError("give either tasks or an operator")
        if self.tasks and self.model_fields_set & {"params", "sigma", "image_size"}:
            raise ValueError("params, sigma and image_size go with an operator: a task has its own")
        if len(set(self.tasks)) < len(self.tasks):
            raise ValueError(f"tasks are {', '.join(self.tasks)}: name each once")
        if sum(given is not None for given in (self.prompt, self.prompt_column, self.prompt_template)) > 1:
            raise ValueError("give only one of prompt, prompt_column and prompt_template")
        if self.operator and self.resize and self.image_size is None:
            raise ValueError("resize needs image_size to know the size, when there is no task")
        return self

    def degradations(self) -> dict[str, Degradation]:
        """What to measure, by the name it has in the manifest."""
        if self.operator:
            args = Namespace(task=None, operator=self.operator, sigma=self.sigma)
            plain, cls = degradation(args, self.params), OPERATORS.find(self.operator)
            if cls.signal != IMAGE:
                raise InputError(
                    f"operator: {self.operator} measures the signal {cls.signal!r} and these are pictures; "
                    "pipelines.manifest.write_manifest makes manifests of any signal."
                )
            return {safe_id(cls.name): Degradation(plain.operator, plain.params, plain.sigma, self.image_size)}
        return {name: degradation(Namespace(task=name, operator=None, sigma=None), {}) for name in self.tasks}
