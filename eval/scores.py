"""Scored results: one Parquet row per work item, and the table that statistics, gates and reports read.

A work item is a measurement solved with some settings and a seed. The columns are `item`, `measurement`,
`measurement_digest`, `cell`, `seed`, `error`, then any parameters and metrics; which is which stands in the Arrow
schema's metadata, see `eval.score_columns`.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from eval.cell_labels import cell_labels, shown_settings, task_of, with_task
from eval.metrics.info import COSTS, MetricInfo
from eval.score_columns import (
    FIXED,
    METADATA_KEY,
    PROVENANCE,
    ROW_COSTS,
    Roles,
    score_schema,
    scoring_version,
    with_metrics,
)
from eval.score_files import read_table
from operators import InputError
from operators.credentials import refuse_secrets
from operators.validation import did_you_mean, shorten

__all__ = [
    "METADATA_KEY",
    "PROVENANCE",
    "ROW_COSTS",
    "CellValues",
    "Parameter",
    "ScoreTable",
    "score_schema",
    "scoring_version",
    "with_metrics",
]

_REQUIRED = ("measurement", "cell", "seed")

Parameter = str | int | float | bool | None


@dataclass(frozen=True)
class CellValues:
    """One metric of one cell; entry i of every array belongs to the same work item."""

    label: str
    metric: str
    measurements: NDArray[np.object_]
    seeds: NDArray[np.int64]
    digests: NDArray[np.object_]
    """Content hash of each measurement; None where it was not recorded."""

    failed: NDArray[np.bool_]
    """The work item carries an error."""

    values: NDArray[np.float64]
    """NaN where the item failed."""

    @property
    def finite(self) -> NDArray[np.bool_]:
        """Which entries can be averaged."""
        return np.isfinite(self.values)

    @property
    def failed_count(self) -> int:
        return int(self.failed.sum())

    @property
    def non_finite_count(self) -> int:
        """Values that are NaN or infinite although the item was solved, such as the PSNR of a perfect copy."""
        return int((~self.finite & ~self.failed).sum())


class ScoreTable:
    """A checked, sorted view of a scored table; `table` is the Arrow table underneath."""

    def __init__(self, table: pa.Table, where: str = "scores") -> None:
        _require(table, where)
        self.roles = Roles.read(table.schema, where)
        self.metrics, self.parameters, self.free = self.roles.metrics, self.roles.parameters, self.roles.free
        self.table = _typed(table, self.metrics, where).sort_by(
            [(name, "ascending") for name in ("cell", "measurement", "seed")]
        )
        self.where = where
        self._rows = _rows_by_cell(self.table)
        self._refuse_duplicates()

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """A Parquet file, or a folder of them, at a path or a URL that Arrow can open."""
        refuse_secrets(str(path), "scores")
        try:
            table = read_table(str(path))
        except FileNotFoundError:
            raise InputError(f"scores {path}: there is no such file.") from None
        except (pa.ArrowException, UnicodeEncodeError, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise  # the disk's word; Arrow has no number for pages that are damaged
            said = " ".join(str(error).split())
            raise InputError(f"scores {path}: it cannot be read as Parquet ({shorten(said)}).") from None
        return cls(table, where=f"scores {path}")

    def only(self, metrics: Sequence[str]) -> "ScoreTable":
        """The same rows with these metrics alone, by column or as a specification names them, and the costs."""
        known = [name for name in self.metrics if name not in COSTS]
        by_name = {self.info(name).named: name for name in known} | {name: name for name in known}
        for name in metrics:
            if name not in by_name:
                near, others = did_you_mean(name, known), ", ".join(known) or "none"
                raise InputError(f"metrics: {self.where} has no {name!r}{near}; it has {others}.")
        metrics = [by_name[name] for name in metrics]
        table = self.table.drop_columns([name for name in known if name not in metrics])
        kept = replace(self.roles, metrics=(*metrics, *(name for name in self.metrics if name not in known)))
        return ScoreTable(table.replace_schema_metadata(kept.metadata()), where=self.where)

    def info(self, metric: str) -> MetricInfo:
        """Direction, unit, decimals and tolerance of a metric or cost."""
        return self.roles.info(metric)

    @property
    def judged(self) -> tuple[str, ...]:
        """Metrics that say better and worse; time and memory are none."""
        return tuple(name for name in self.metrics if name not in COSTS and self.info(name).direction != "none")

    def columns(self, names: Iterable[str]) -> list[str]:
        """The columns of metrics as a specification names them, those that are there: `module:thing` has its own."""
        by_name = {self.info(name).named: name for name in self.metrics}
        return [by_name[name] for name in names if name in by_name]

    def cells(self) -> list[str]:
        """Cell ids in the order of their parameters, whatever the order of the rows."""
        return list(self._settings)

    def cell_parameters(self, cell: str) -> dict[str, Parameter]:
        """The parameters all items of a cell share; one that changes inside a cell belongs to its measurements."""
        self._slice(cell)
        return dict(self._settings[cell])

    def cell_label(self, cell: str) -> str:
        """A name for people, by `eval.cell_labels`, the task first: `sr4-32, star, eta_kl=0.0003`."""
        self._slice(cell)
        return self._labels[cell]

    def values(self, cell: str, metric: str) -> CellValues:
        """One metric of one cell, sorted by measurement and seed."""
        rows = self._slice(cell)
        if metric not in self.metrics:
            raise InputError(f"metric: {self.where} has no {metric!r}; it has {', '.join(self.metrics) or 'none'}.")
        part = self.table.slice(rows.start, rows.stop - rows.start)
        failed = np.asarray(part["error"].is_valid()) if "error" in part.column_names else np.zeros(len(part), bool)
        values = part[metric].to_numpy().astype(np.float64)  # null becomes NaN
        return CellValues(
            label=self._labels[cell],
            metric=metric,
            measurements=_objects(part, "measurement"),
            seeds=part["seed"].to_numpy(),
            digests=_objects(part, "measurement_digest"),
            failed=failed,
            values=np.where(failed, np.nan, values),
        )

    def _slice(self, cell: str) -> slice:
        if cell not in self._rows:
            raise InputError(f"cell: {self.where} has no {cell!r}; it has {shorten(', '.join(self._rows))}.")
        return self._rows[cell]

    @cached_property
    def _settings(self) -> dict[str, dict[str, Parameter]]:
        """Shared parameters by cell, in the order of their values."""
        wanted = [("count_distinct", pc.CountOptions(mode="all")), ("one", None)]
        asked = [(name, function, options) for name in self.parameters for function, options in wanted]
        found = {
            row["cell"]: {
                name: _absent_as_none(row[f"{name}_one"])
                for name in self.parameters
                if row[f"{name}_count_distinct"] == 1
            }
            for row in self.table.group_by("cell", use_threads=False).aggregate(asked).to_pylist()
        }
        return {cell: found[cell] for cell in sorted(found, key=lambda cell: (_order(found[cell].items()), cell))}

    @cached_property
    def _labels(self) -> dict[str, str]:
        labels = cell_labels(self._settings, shown_settings(self._settings))
        return {cell: with_task(task_of(self._settings[cell]), label) for cell, label in labels.items()}

    def _refuse_duplicates(self) -> None:
        earlier, later = self.table.slice(0, len(self.table) - 1), self.table.slice(1)
        same = [pc.equal(earlier[name], later[name]) for name in ("cell", "measurement", "seed")]
        twice = later.filter(pc.and_(pc.and_(same[0], same[1]), same[2]))  # sorted, so duplicates are neighbours
        if len(twice):
            row = twice.slice(0, 1).to_pylist()[0]
            raise InputError(
                f"{self.where}: cell {row['cell']!r} has measurement {row['measurement']!r} with seed {row['seed']} "
                "more than once: each work item must be there once."
            )


def _require(table: pa.Table, where: str) -> None:
    missing = [name for name in _REQUIRED if name not in table.column_names]
    if missing:
        raise InputError(f"{where}: column {missing[0]!r} is missing; a scored table has {', '.join(_REQUIRED)}.")
    for name in _REQUIRED:
        if table[name].null_count:
            raise InputError(f"{where}: column {name!r} has {table[name].null_count} empty values: it must have none.")
    if not len(table):
        raise InputError(f"{where}: it has no rows: there is nothing to compare.")


def _typed(table: pa.Table, metrics: Sequence[str], where: str) -> pa.Table:
    wanted = {**FIXED, **{name: pa.float64() for name in metrics}}
    for name in table.column_names:
        kind = table.schema.field(name).type
        target = wanted.get(name, kind.value_type if pa.types.is_dictionary(kind) else kind)
        if kind == target:
            continue
        try:
            table = table.set_column(table.column_names.index(name), name, table[name].cast(target))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise InputError(f"{where}: column {name!r} is {kind}: it must be {target}.") from None
    return table


def _rows_by_cell(table: pa.Table) -> dict[str, slice]:
    runs = pc.run_end_encode(table["cell"].combine_chunks())
    ends = runs.run_ends.to_pylist()
    return {
        cell: slice(start, end) for cell, start, end in zip(runs.values.to_pylist(), [0, *ends[:-1]], ends, strict=True)
    }


def _objects(table: pa.Table, name: str) -> NDArray[np.object_]:
    if name not in table.column_names:
        return np.full(len(table), None, dtype=object)
    return np.array(table[name].to_pylist(), dtype=object)


def _absent_as_none(value: Parameter) -> Parameter:
    """Table libraries write NaN where a number does not apply, and NaN equals nothing, not even itself."""
    return None if isinstance(value, float) and math.isnan(value) else value


def _order(settings: Iterable[tuple[str, Parameter]]) -> list[tuple[str, bool, Parameter]]:
    """A key that sorts by value; an absent value comes first, so that None is never compared with a number."""
    return [(name, value is not None, 0 if value is None else value) for name, value in settings]
