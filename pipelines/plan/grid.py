"""Grids over the settings of a method: lists, ranges, log ranges; crossed, zipped, or point by point; with filters.

Or, instead of combinations, what a search may propose.
"""

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag, model_validator

from operators.validation import AtKeyError, did_you_mean

if TYPE_CHECKING:
    from g2d2.methods import Method


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("it must be a finite number")
    return value


# asked beforehand: pydantic would else say of each kind of value in turn why this is none
Value = Annotated[bool | int | float | str, BeforeValidator(_finite)]
Point = dict[str, Value]

MAX_CELLS = 100_000
"""Combinations of one grid, before exclusions: beyond it a plan would not fit into memory."""


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True)


class Range(_Model):
    """`count` values from first to last: evenly spaced in `range`, at equal ratios in `log`."""

    range: tuple[float, float] | None = None
    """First and last value, evenly spaced."""
    log: tuple[float, float] | None = None
    """First and last value, both above 0, at equal ratios."""
    count: int = Field(gt=1, le=MAX_CELLS)
    """Number of values, ends included."""

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if (self.range is None) == (self.log is None):
            raise ValueError("give either range or log, with a count")
        if self.log is not None and min(self.log) <= 0:
            raise ValueError(f"log needs numbers above 0 and runs from {self.log[0]:g} to {self.log[1]:g}")
        return self

    def values(self) -> list[Value]:
        """Rounded to 12 digits, so that 0.0003 is called 0.0003 in every table."""
        first, last = self.range or self.log or (0.0, 0.0)
        shares = [step / (self.count - 1) for step in range(self.count)]
        if self.log is not None:
            numbers = [first * (last / first) ** share for share in shares]
        else:
            numbers = [first + (last - first) * share for share in shares]
        return [float(f"{number:.12g}") for number in numbers]


class Between(_Model):
    """Any number from first to last: all alike in `range`, all orders of magnitude alike in `log`."""

    range: tuple[float, float] | None = None
    """First and last value."""
    log: tuple[float, float] | None = None
    """First and last value, both above 0."""

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if (self.range is None) == (self.log is None):
            raise ValueError("give either range or log")
        first, last = self.ends
        if first >= last:
            raise ValueError(f"it runs from {first:g} to {last:g}; the first must be below the last")
        if self.log is not None and first <= 0:
            raise ValueError(f"log needs numbers above 0 and runs from {first:g} to {last:g}")
        return self

    @property
    def ends(self) -> tuple[float, float]:
        return self.range or self.log or (0.0, 0.0)

    def rounded(self, number: float) -> float:
        """To 6 digits, so that tables stay readable, and never beyond the ends."""
        first, last = self.ends
        return min(max(float(f"{number:.6g}"), first), last)


def _kind(axis: Any) -> str:
    return "range" if isinstance(axis, (Mapping, Range, Between)) else "list"


# told apart beforehand: pydantic would else blame a bad range for not being a list
Axis = Annotated[Annotated[list[Value], Tag("list")] | Annotated[Range, Tag("range")], Discriminator(_kind)]
SearchAxis = Annotated[Annotated[list[Value], Tag("list")] | Annotated[Between, Tag("range")], Discriminator(_kind)]

MAX_TRIALS = 10_000
BATCH = 8


class Grid(_Model):
    """All combinations of the crossed axes, the zipped groups and the points, less what is excluded."""

    cross: dict[str, Axis] = {}
    """Settings by name with their values; every combination runs."""
    zipped: list[dict[str, Axis]] = []
    """Groups of settings that vary together, value by value; groups are crossed with everything else."""
    points: list[Point] = []
    """Combinations given one by one, crossed with everything else; empty means none in particular."""
    exclude: list[dict[str, Value | list[Value]]] = []
    """A combination that matches all settings of one entry does not run."""
    search: dict[str, SearchAxis] = {}
    """Instead of all these, settings by name with what may be proposed for each: `{log: [0.0001, 0.01]}`,
    `{range: [0, 1]}`, or a list of choices. Batches of proposals race, so it needs `race`."""
    trials: int | None = Field(default=None, gt=1, le=MAX_TRIALS)
    """How many cells a search proposes."""
    batch: int | None = Field(default=None, gt=1, le=MAX_TRIALS)
    """How many of them at a time, 8 when left out: later ones follow from the scores of earlier ones."""

    @model_validator(mode="after")
    def _searchable(self) -> Self:
        if not self.search:
            if self.trials is not None or self.batch is not None:
                raise ValueError("trials and batch are of a search; say in `search` what it varies")
            return self
        if others := [name for name in ("cross", "zipped", "points", "exclude") if getattr(self, name)]:
            raise ValueError(f"search stands alone, without {', '.join(others)}; give it a list of choices instead")
        if self.trials is None:
            raise ValueError("trials is missing: it says how many cells the search proposes")
        lists = {name: axis for name, axis in self.search.items() if isinstance(axis, list)}
        _refuse_empty(lists.items())
        combinations = math.prod(map(len, lists.values()))
        if len(lists) == len(self.search) and combinations < self.trials:
            raise ValueError(
                f"trials is {self.trials}, and the lists have {combinations} combinations: `cross` has all"
            )
        return self

    @property
    def batches(self) -> list[int]:
        """How many cells each batch of a search proposes."""
        size, trials = self.batch or BATCH, self.trials or 0
        return [min(size, trials - first) for first in range(0, trials, size)]

    @model_validator(mode="after")
    def _possible(self) -> Self:
        groups = [next(map(_length, group.values()), 1) for group in self.zipped]
        cells = math.prod([*map(_length, self.cross.values()), *groups, len(self.points) or 1])
        if cells > MAX_CELLS:
            raise ValueError(f"it has {cells} combinations and may have {MAX_CELLS}; give fewer values, or two sweeps")
        _refuse_empty(self.axes())
        for group in self.zipped:
            lengths = {name: _length(axis) for name, axis in group.items()}
            if len(set(lengths.values())) > 1:
                raise ValueError(f"zipped settings must have equally many values, and have {lengths}")
        names = self.names()
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"{', '.join(twice)} is varied in two places; vary it in one")
        return self

    def axes(self) -> Iterator[tuple[str, list[Value]]]:
        """Names and values of all axes."""
        for group in (self.cross, *self.zipped):
            for name, axis in group.items():
                yield name, _values(axis)

    def names(self) -> list[str]:
        """The settings that the grid names."""
        return [name for name, _ in self.axes()] + sorted({name for point in self.points for name in point})

    def __iter__(self) -> Iterator[Point]:  # type: ignore[override]
        """The combinations, in a fixed order; one empty combination where nothing varies."""
        factors: list[list[Point]] = [[{name: value} for value in _values(axis)] for name, axis in self.cross.items()]
        for group in self.zipped:
            columns = [_values(axis) for axis in group.values()]
            factors.append([dict(zip(group, row, strict=True)) for row in zip(*columns, strict=True)])
        if self.points:
            factors.append(self.points)
        for parts in itertools.product(*factors):
            point = {name: value for part in parts for name, value in part.items()}
            if not any(matches(point, pattern) for pattern in self.exclude):
                yield point


def require_axes(grid: Grid, method: "Method[Any, Any]", *keys: int | str) -> None:
    """Refuse a grid that names what is no setting of the method."""
    for field in ("cross", "zipped", "points", "exclude", "search"):
        value = getattr(grid, field)
        groups = [((), value)] if isinstance(value, dict) else [((index,), group) for index, group in enumerate(value)]
        for place, group in groups:
            for name in group:
                require_setting(method, name, *keys, field, *place)


def require_setting(method: "Method[Any, Any]", name: str, *keys: int | str) -> None:
    """A setting's name, or an error at that key with the nearest one."""
    known = method.Settings.model_fields
    if name not in known:
        near, names = did_you_mean(name, known), ", ".join(known) or "none"
        raise AtKeyError(f"{name!r} is not a setting of {method.name}{near}; known are {names}", *keys, name)


def _refuse_empty(axes: Iterable[tuple[str, list[Value]]]) -> None:
    for name, axis in axes:
        if not axis:
            raise ValueError(f"{name} has no values; give at least one")
        if len(set(map(repr, axis))) < len(axis):
            raise ValueError(f"{name} names a value twice")


def _length(axis: Axis) -> int:
    return axis.count if isinstance(axis, Range) else len(axis)


def _values(axis: Axis) -> list[Value]:
    return axis.values() if isinstance(axis, Range) else axis


def matches(point: Mapping[str, Value], pattern: Mapping[str, Value | list[Value]]) -> bool:
    """Whether a combination has every setting of a pattern, with one of the values given for it."""
    return all(
        name in point and any(_same(point[name], value) for value in (wanted if isinstance(wanted, list) else [wanted]))
        for name, wanted in pattern.items()
    )


def _same(left: Value, right: Value) -> bool:
    if isinstance(left, (int, float)) and isinstance(right, (int, float)):
        return math.isclose(left, right, rel_tol=1e-9)
    return left == right
