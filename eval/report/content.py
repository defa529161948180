"""All that a report is made of: plain values, so that a page is a function of them and of nothing else."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from eval.record import SweepRecord

Kind = Literal["worst", "median", "best"]


@dataclass(frozen=True)
class TaskFacts:
    """What was measured in a task."""

    operator: str
    params: dict[str, Any]
    sigma: float
    x_shape: tuple[int, ...]
    entries: int | None
    """Observed numbers of a measurement: they say how far a residual strays by chance."""

    @property
    def words(self) -> str:
        """`super_resolution, factor 4, sigma 0.05, 32x32`."""
        params = [f"{name} {_plain(value)}" for name, value in self.params.items() if value is not None]
        sides = ["x".join(str(side) for side in reversed(self.x_shape[1:]))] if len(self.x_shape) > 2 else []
        return ", ".join([self.operator, *params[:3], f"sigma {self.sigma:g}", *sides])


def _plain(value: Any) -> str:
    if isinstance(value, tuple | list):
        return " ".join(map(_plain, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class Failure:
    """Rows that failed with the same sentence."""

    error: str
    count: int
    examples: list[str]
    """Measurements, with their cells."""

    @property
    def row(self) -> tuple[str, int, str]:
        """As a table shows it."""
        return self.error, self.count, "; ".join(self.examples)


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
    unasked: tuple[str, ...] = ()
    """Cells that were never to solve it, as those that left a race before."""


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
    """Steps t in the order in which they were taken."""

    curves: dict[str, list[float]]
    """By the method's own names; a curve has one point or several per step."""

    rows: int
    snapshots: list[tuple[int, str]] = field(default_factory=list)
    """Step t and the key of what was kept of it among the pictures, of `measurement`."""

    measurement: str = ""
    snapshots_kept: int = 0
    """Steps t of which the sweep kept one; those that are not among `snapshots` were left out."""

    beside: list[tuple[str, str]] = field(default_factory=list)
    """Names and keys of further pictures of `measurement`: the mean of several samples, and where they differ."""

    iterations: list[int] = field(default_factory=list)
    """Points of a curve in each step, where steps differ in that."""


@dataclass(frozen=True)
class PaperTable:
    """One task of ours beside one table of the paper."""

    task: str
    dataset: str
    marks: list[str]
    """In words, what is not the same."""

    header: list[str]
    rows: list[list[str]]
    ours: int
    """How many rows are ours; they come first."""


@dataclass(frozen=True)
class Other:
    """Another sweep on the same measurements."""

    name: str
    record: SweepRecord


@dataclass(frozen=True)
class Report:
    """Everything a page shows."""

    facts: Facts
    record: SweepRecord
    pictures: Pictures = Pictures()
    traces: Sequence[TraceCurves] = ()
    against: Sequence[Other] = ()
    """Whose cells the explorer shows beside its own."""

    wanted: Sequence[str] = ()
    """Measurements that were asked for: the explorer begins with the first."""

    wanted_cells: Sequence[str] = ()
    """Ids of cells that were asked for: the explorer sets the first two of a task side by side."""

    @property
    def curve_names(self) -> list[str]:
        """Of all traces, in their order."""
        return list(dict.fromkeys(name for one in self.traces for name in one.curves))

    @cached_property
    def paper(self) -> list[PaperTable]:
        """The paper's numbers beside ours, for tasks that it has too."""
        from eval.report.paper_rows import paper_tables  # which reads this

        return paper_tables(self.record, self.facts)
