"""The paper's experiments as folders: `table.yaml`, full specifications, and `mini*.yaml` for the embedded prior.

A specification with `figure` in its file's name keeps traces for the paper's figures, and is no part of the table.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, field_validator, model_validator

from eval.paper import paper_results
from operators import InputError
from operators.plain_yaml import read_yaml
from operators.validation import did_you_mean
from pipelines.paper.table_columns import COLUMNS, DISTANCES
from pipelines.plan.grid import Value
from pipelines.plan.sweep_spec import SweepSpec, load_spec

TABLE = "table.yaml"


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True)


class Row(_Model):
    """A line of the table: which results of ours it shows."""

    label: str
    """What the paper, or the reader, calls it."""
    match: dict[str, Value | list[Value]] = {}
    """Settings a cell must have, or `task`, `method`, `batch`, or `prior`, the last part of its name or path; a list
    admits each of its values."""


class Printed(_Model):
    """Numbers the paper prints for a row, for tables that `eval.paper` does not hold."""

    row: str
    """Label of the row."""
    dataset: str
    """imagenet or ffhq."""
    task: str
    """sr4 or gaussian-deblur."""
    values: dict[str, float]
    """By column; memory in GiB."""


class RowContrast(_Model):
    """Two rows whose paired difference, a minus b, is the experiment's question."""

    a: str
    """Label of a row."""
    b: str
    """Label of another."""
    printed_a: str | None = None
    """Row whose printed numbers stand for a; a itself when left out."""
    printed_b: str | None = None
    """The same for b."""


class TableSpec(_Model):
    """What an experiment's table shows and where the paper prints it."""

    title: str
    """Heading."""
    source: str
    """Where in the paper."""
    question: str
    """What the paper says of it, in a sentence."""
    differs: str
    """How the mini differs from the paper's experiment, besides prior and data."""
    metrics: list[str]
    """Columns of every task that have a value per image."""
    distances: list[str] = []
    """Further columns, of distances between all images of a cell and their truths."""
    rows: list[Row]
    """In the table's order."""
    contrasts: list[RowContrast] = []
    """Differences that are tested."""
    methods: dict[str, str] = {}
    """Rows by label whose printed numbers `eval.paper` holds, with the method's name there."""
    printed: list[Printed] = []
    """Other printed numbers."""

    @field_validator("metrics")
    @classmethod
    def _known_columns(cls, value: list[str]) -> list[str]:
        known = [name for name in COLUMNS if name not in DISTANCES]
        if not value or set(value) - set(known):
            raise ValueError(f"each must be one of {', '.join(known)}")
        return value

    @field_validator("distances")
    @classmethod
    def _known_distances(cls, value: list[str]) -> list[str]:
        if set(value) - set(DISTANCES):
            raise ValueError(f"each must be one of {', '.join(DISTANCES)}")
        return value

    @property
    def columns(self) -> list[str]:
        """All columns of a task, in order."""
        return [*self.metrics, *self.distances]

    @model_validator(mode="after")
    def _labels(self) -> Self:
        labels = [row.label for row in self.rows]
        if len(set(labels)) < len(labels):
            raise ValueError("two rows have the same label")
        for used in [label for contrast in self.contrasts for label in (contrast.a, contrast.b)]:
            if used not in labels:
                raise ValueError(f"a contrast names {used!r}, which is not a row; rows are {', '.join(labels)}")
        for method in self.methods.values():
            paper_results(method=method)
        return self


@dataclass(frozen=True)
class Experiment:
    """One folder of `examples/paper`."""

    name: str
    table: TableSpec
    minis: dict[str, SweepSpec]
    """By file name without its ending."""

    full: dict[str, SweepSpec]
    mini_figures: dict[str, SweepSpec] = field(default_factory=dict)
    full_figures: dict[str, SweepSpec] = field(default_factory=dict)


def find_experiments(folder: Path, only: list[str] | None = None) -> list[Experiment]:
    """The folders with a `table.yaml`, by name; every specification is read and checked."""
    names = sorted(path.parent.name for path in folder.glob(f"*/{TABLE}"))
    if not names:
        raise InputError(f"experiments {folder}: no folder in it has a {TABLE}; give the folder examples/paper.")
    unknown = sorted(set(only or ()) - set(names))
    if unknown:
        near = did_you_mean(unknown[0], names)
        raise InputError(f"only: {', '.join(unknown)}{near} is not an experiment; known are {', '.join(names)}.")
    return [_read(folder / name) for name in names if not only or name in only]


def _read(folder: Path) -> Experiment:
    table = read_yaml(folder / TABLE, "table").validate(TableSpec)
    specs = {file.stem: load_spec(file) for file in sorted(folder.glob("*.yaml")) if file.name != TABLE}
    sorted_out: dict[tuple[bool, bool], dict[str, SweepSpec]] = {}
    for stem, spec in specs.items():
        sorted_out.setdefault((stem.startswith("mini"), "figure" in stem), {})[stem] = spec
    wanted = ((True, False), (False, False), (True, True), (False, True))
    return Experiment(folder.name, table, *(sorted_out.get(kind, {}) for kind in wanted))
