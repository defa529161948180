"""All that a report is made of: plain values, so that a page is a function of them and of nothing else."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from eval.distribution.results import CellDistance
from eval.report.results import Results
from eval.statistics import Interval

Kind = Literal["worst", "median", "best"]


@dataclass(frozen=True)
class TaskFacts:
    """What was measured in a task."""

    operator: str
    params: dict[str, Any]
    sigma: float
    image_shape: tuple[int, ...]
    entries: int | None
    """Observed numbers of a measurement: they say how far a residual strays by chance."""


@dataclass(frozen=True)
class Failure:
    """Rows that failed with the same sentence."""

    error: str
    count: int
    examples: list[str]
    """Measurements, with their cells."""


@dataclass(frozen=True)
class Facts:
    """What ran, and how complete it is."""

    name: str
    where: str
    prior: str
    expected: int
    scored: int
    failed: int
    specification: str
    """As YAML."""

    details: dict[str, str]
    """Digests, versions, devices: names with their values, as the page prints them."""

    tasks: dict[str, TaskFacts] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """What could not be shown, and why."""

    @property
    def missing(self) -> int:
        return self.expected - self.scored


@dataclass(frozen=True)
class PictureRow:
    """One measurement in a gallery: which cells to show, and what the metric says of each."""

    task: str
    metric: str
    kind: Kind
    measurement: str
    seed: int
    values: dict[str, float | None]
    """By cell id, in the order of the columns."""

    prompt: str = ""


@dataclass(frozen=True)
class Pictures:
    """Rows of pictures. Encoded pictures are kept once, under `truth/ID`, `y/ID` and `CELL/ID/SEED`."""

    rows: list[PictureRow] = field(default_factory=list)
    images: dict[str, bytes] = field(default_factory=dict)
    left_out: int = 0
    """Rows that did not fit."""


@dataclass(frozen=True)
class TraceCurves:
    """How solving went in one cell: means over the rows whose traces were read."""

    cell: str
    levels: list[int]
    total: list[float]
    """Loss of every inner iteration, step after step."""

    likelihood: list[float]
    kl: list[float]
    remasked: list[float]
    """Tokens that went from a code back to the mask, per step."""

    masked: list[float]
    rows: int
    samples: list[tuple[int, str]] = field(default_factory=list)
    """Step t and the key of the prior's own guess among the pictures, of `measurement`."""

    measurement: str = ""
    samples_kept: int = 0
    """Levels of t at which the sweep kept a guess; those that are not among `samples` were left out."""


@dataclass(frozen=True)
class Report:
    """Everything a page shows."""

    facts: Facts
    results: Results
    pictures: Pictures = Pictures()
    traces: Sequence[TraceCurves] = ()
    distances: Mapping[str, Mapping[str, CellDistance]] = field(default_factory=dict)
    """Distances between sets of images, such as `fid`, by cell and name."""

    measurements: Mapping[str, Mapping[str, Interval]] = field(default_factory=dict)
    """What the measurements are worth as images, by task and metric."""
