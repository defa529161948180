"""The specification of a sweep: one YAML file, typed, checked before anything heavy starts."""

import re
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from eval.distribution import distribution_names
from eval.metrics import METRICS, metric_names
from g2d2.choices import Compile, Precision
from operators.credentials import holds_secret
from operators.plain_yaml import LARGEST_INTEGER, read_yaml
from operators.validation import AtKeyError, did_you_mean
from pipelines.plan.arms import Arm, Choice, arm_label
from pipelines.plan.grid import Grid, require_axes
from pipelines.plan.race_spec import SAFE, Race

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True)


class Selection(_Model):
    """Which measurements of the manifest take part."""

    tasks: list[str] | None = Field(default=None, min_length=1)
    """Only these tasks, at least one; all when left out."""
    skip: int = Field(default=0, ge=0)
    """Leave out this many measurements of each task, the first in the manifest's order."""
    limit: int | None = Field(default=None, gt=0)
    """Then take at most this many of each task."""


class Kept(_Model):
    """What is stored beside scores; reconstructions always are."""

    floats: bool = False
    """Also the reconstruction as float32. Scores come from the stored form, such as an 8-bit PNG, all the same."""
    traces: bool = False
    """The curves that the method records, such as its losses."""
    snapshots_at: list[int] = []
    """Steps t at which the method's own picture of the way is kept, such as the prior's guess; needs traces."""

    @model_validator(mode="after")
    def _needs_traces(self) -> Self:
        if self.snapshots_at and not self.traces:
            raise ValueError("snapshots_at needs traces: true")
        return self


class Tracking(_Model):
    """Where MLflow writes."""

    uri: str | None = None
    """Tracking URI; MLFLOW_TRACKING_URI, else a sqlite file beside a local output, when left out."""
    experiment: str = "g2d2"
    """MLflow experiment."""
    panels: int = Field(default=4, ge=0)
    """Measurements per cell shown as images: truth, measurement, reconstruction."""
    enabled: bool = True
    """False: nothing is logged."""

    @field_validator("uri")
    @classmethod
    def _no_password(cls, value: str | None) -> str | None:
        if value is not None and holds_secret(value):
            raise ValueError("it holds a password; set MLFLOW_TRACKING_URI or MLFLOW_TRACKING_PASSWORD instead")
        return value


class Resources(_Model):
    """How the work is placed. What rounds otherwise (`dtype`, `compile`, `channels_last`) is part of a result's id."""

    devices: int | Literal["auto"] = "auto"
    """Solver actors, one per device: every GPU of the cluster, also those that join later, or one CPU actor per
    `cpus_per_device` without GPUs."""
    wait_for_gpus: float = Field(default=0, ge=0)
    """Seconds to wait for a first GPU that an autoscaling cluster is still to bring; then work starts and grows."""
    cpus_per_device: int | None = Field(default=None, gt=0)
    """Cores and torch threads of a CPU actor; a quarter of the cores by default."""
    batch: int | Literal["auto"] = "auto"
    """Rows solved together, at most a shard; `auto` tries sizes against free device memory. Part of no id: on a GPU it
    can change the last bits, so each row records it, with its device, torch, threads and processor."""
    shard: int = Field(default=16, gt=0)
    """Rows committed together: what is lost when a device dies, and the most that are solved together."""
    batch_timeout: float | Literal["auto"] | None = "auto"
    """Seconds after which a batch counts as hung: its worker is ended and its rows are tried once more, each alone.
    `auto` allows 20 times what such work has taken on the device, and at least 900; null waits for ever."""
    dtype: Precision = "float32"
    """Precision of the networks. Part of the result's identity."""
    compile: Compile = False
    """Compile the networks; `graphs` also makes CUDA graphs of them, which needs GPUs. Where it is not false, part of
    the result's identity: it rounds otherwise."""
    channels_last: bool = False
    """Memory layout of the decoder. Where it is true, part of the result's identity: it rounds otherwise."""

    @property
    def variants(self) -> list[str]:
        """Forms of the networks that are asked for and compute the same only up to rounding."""
        forms = {"compile": self.compile, "channels_last": self.channels_last}
        return [name if form is True else f"{name}: {form}" for name, form in forms.items() if form]

    @field_validator("compile", mode="before")
    @classmethod
    def _known_form(cls, value: object) -> object:
        if not isinstance(value, bool) and value != "graphs":
            raise ValueError("it must be true, false or graphs")
        return value

    @field_validator("devices", "batch")
    @classmethod
    def _positive(cls, value: int | str) -> int | str:
        if isinstance(value, int) and value < 1:
            raise ValueError("it must be auto or at least 1")
        return value

    @model_validator(mode="after")
    def _within_a_shard(self) -> Self:
        if isinstance(self.batch, int) and self.batch > self.shard:
            raise ValueError(f"batch is {self.batch} and shard {self.shard}: a batch lies within a shard; raise shard")
        return self

    @field_validator("batch_timeout")
    @classmethod
    def _some_time(cls, value: float | str | None) -> float | str | None:
        if isinstance(value, int | float) and value <= 0:
            raise ValueError("it must be auto, null or more than 0")
        return value


class SweepSpec(_Model):
    """A sweep: measurements times settings times seeds."""

    name: str
    """Name of the sweep: letters, digits, dot, dash, underscore."""
    manifest: str
    """Folder or s3:// URL of the measurements, from `g2d2 manifest build`."""
    output: str
    """Folder or s3:// URL of the results, of this sweep alone unless it is `shared`."""
    shared: bool = False
    """Sweeps of other names that say so too may have the same output; a cell that two of them name is solved once."""
    prior: str | None = None
    """Name, folder, hub id, or `module:thing`: of every arm that names none of its own."""
    arms: dict[str, Arm] = {}
    """Sides of a comparison by name, over the same measurements. Without them `solver` and `grid` are the only arm, or
    one for each value of what `compare` names, as `process`."""
    solver: Choice = Field(default_factory=Choice)
    """Method and base settings where there are no `arms`."""
    grid: Grid = Grid()
    """What varies where there are no `arms`."""
    compare: str | None = None
    """The arm that the others are held against, or a setting whose values are: `process` where a grid varies it."""
    race: Race | None = None
    """Stop cells that are beaten beyond doubt: `safe`, or settings of the race. Without it every cell sees all."""
    seeds: list[int] = [0]
    """One reconstruction per measurement, cell and seed."""
    metrics: list[str] | None = None
    """What is measured of every reconstruction. Where it is left out: `psnr`, `ssim`, `lpips_vgg` and `residual` of
    images; `path_error`, its two shares of misses and `foot_skating` in both normalisations of
    motions, and `feet_on_floor`."""
    distribution: list[str] = []
    """Numbers about all reconstructions of a cell at once. Of images `fid`, `kid`, `fd_vgg16`, `kd_vgg16`; of motions
    `frechet_cmu`, `r_precision_cmu_top3` and others, and `fid_t2m` and so on where that evaluator was brought."""
    select: Selection = Selection()
    """Which measurements."""
    keep: Kept = Kept()
    """What is stored."""
    tracking: Tracking = Tracking()
    """MLflow."""
    resources: Resources = Resources()
    """Devices, batches, precision."""

    @field_validator("name")
    @classmethod
    def _plain_name(cls, value: str) -> str:
        if not _NAME.fullmatch(value) or ".." in value:
            raise ValueError(
                "it must be letters, digits, dot, dash or underscore, at most 100, and start with one of the first two"
            )
        return value

    @field_validator("seeds")
    @classmethod
    def _distinct(cls, value: list[int]) -> list[int]:
        if not value or len(set(value)) < len(value):
            raise ValueError("it must name at least one seed, each once")
        if max(map(abs, value)) > LARGEST_INTEGER:
            raise ValueError(f"a seed must be a whole number from {-LARGEST_INTEGER} to {LARGEST_INTEGER}")
        return value

    @field_validator("race", mode="before")
    @classmethod
    def _safe(cls, value: object) -> object:
        if value == SAFE:
            return {}
        if value is not None and not isinstance(value, dict | Race):
            raise ValueError(f"it must be {SAFE} or settings such as {{budget: 0.1}}")
        return value

    @field_validator("manifest", "prior", "output")
    @classmethod
    def _no_secret(cls, value: str | None) -> str | None:
        if value is not None and holds_secret(value):
            raise ValueError("it holds a password, token or key; give those in the environment")
        return value

    @field_validator("distribution")
    @classmethod
    def _known_distances(cls, value: list[str]) -> list[str]:
        return _each_once(value, distribution_names())

    @field_validator("metrics")
    @classmethod
    def _known_metrics(cls, value: list[str] | None) -> list[str] | None:
        return None if value is None else _each_once(value, metric_names(), METRICS.known)

    @model_validator(mode="after")
    def _arms_fit(self) -> Self:
        if self.arms and (self.grid != Grid() or self.solver != Choice()):
            raise ValueError("solver and grid stand in each arm where there are arms; move them there")
        for name, arm in self.arms.items():
            if not _NAME.fullmatch(name):
                raise AtKeyError(f"arm {name!r}: a name is letters, digits, dot, dash or underscore", "arms", name)
            if arm.prior is not None and holds_secret(arm.prior):
                raise AtKeyError(
                    "it holds a password, token or key; give those in the environment", "arms", name, "prior"
                )
        require_axes(self.grid, self.solver.load_method(), "grid")
        for name, arm in self.all_arms().items():
            if arm.prior is None and arm.load_method().prior is not None:
                at = ("arms", name, "prior") if self.arms else ("prior",)
                raise AtKeyError(f"prior is missing: method {arm.method!r} needs one", *at)
        self._search_fits()
        if self.race is not None and self.metrics is not None:  # else the manifest's signal says what they are
            self.race.check(self.metrics, self.distribution)
        axes = dict.fromkeys(axis for arm in self.all_arms().values() for axis in arm.grid.names())
        known = [*self.arm_names(), *axes]
        if self.compare is not None and self.compare not in known:
            near = did_you_mean(self.compare, known)
            raise AtKeyError(
                f"{self.compare!r}{near} is neither an arm nor a setting that a grid varies, which are "
                f"{', '.join(known)}",
                "compare",
            )
        return self

    def _search_fits(self) -> None:
        for name, arm in self.arms.items():
            if arm.grid.search:
                raise AtKeyError(
                    f"arms.{name}.grid.search: a search stands in the short form's `grid`, without `arms`",
                    "arms",
                    name,
                    "grid",
                )
        if not self.grid.search:
            return
        if self.race is None:
            raise AtKeyError("grid.search: its batches race, and there is no race; add `race: safe`", "grid", "search")
        self.race.check_search()

    def all_arms(self) -> dict[str, Arm]:
        """Every arm with its prior; the short form is one arm, called by its method."""
        if self.arms:
            return {name: arm.model_copy(update={"prior": _prior(arm, self.prior)}) for name, arm in self.arms.items()}
        arm = Arm.model_construct(**dict(self.solver), prior=self.prior, grid=self.grid)
        return {self.solver.method.rpartition(":")[2]: arm.model_copy(update={"prior": _prior(arm, self.prior)})}

    def split_by(self) -> str | None:
        """The setting whose values are the arms of a short form; None where its one arm stands alone."""
        if self.arms:
            return None
        axes = self.grid.names()
        wanted = (self.compare, self.solver.load_method().compared)
        return next((name for name in wanted if name in axes), None)

    def arm_names(self) -> list[str]:
        """What the arms are called, in the order of the specification."""
        split = self.split_by()
        if split is None:
            return list(self.all_arms())
        return list(dict.fromkeys(arm_label(point.get(split)) for point in self.grid))


def _prior(arm: Arm, default: str | None) -> str | None:
    """A method that takes no prior has none, whatever the specification's other arms use."""
    return (arm.prior or default) if arm.load_method().prior is not None else None


def _each_once(names: list[str], known: Collection[str], also: Callable[[str], bool] = lambda name: False) -> list[str]:
    for index, name in enumerate(names):
        if not (name in known or also(name)) or name in names[:index]:
            near = "" if name in known else did_you_mean(name, known)
            raise AtKeyError(f"{name!r}{near}: each must be one of {', '.join(known)}, named once", index)
    return names


def load_spec(path: Path | str) -> SweepSpec:
    """Read and check a YAML file; relative local paths in it are taken from the working directory."""
    return read_yaml(path, "specification").validate(SweepSpec)
