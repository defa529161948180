"""Scored results: one Parquet row per work item, and the table that statistics, gates and reports read.

A work item is a measurement solved with some settings and a seed. The columns are `item`, `measurement`,
`measurement_digest`, `cell`, `seed`, `error`, then any parameters and metrics; which is which stands in the Arrow
schema's metadata, see `eval.score_columns`.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Self

import numpy as np
import pyarrow as pa

from eval.cell_labels import cell_labels, shown_settings, task_of, with_task
from eval.cell_values import CellColumns, CellValues
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
from eval.score_rows import KEYS, Gathering
from operators import InputError
from operators.credentials import refuse_secrets
from operators.validation import did_you_mean, shorten

__all__ = [
    "METADATA_KEY",
    "PROVENANCE",
    "ROW_COSTS",
    "CellColumns",
    "CellValues",
    "Parameter",
    "ScoreTable",
    "score_schema",
    "scoring_version",
    "with_metrics",
]

_REQUIRED = ("measurement", "cell", "seed")

Parameter = str | int | float | bool | None


class ScoreTable:
    """What statistics, gates and reports ask of a scored table, in a few bytes a row; `table` has everything."""

    def __init__(self, table: pa.Table, where: str = "scores") -> None:
        self._fill(table.schema, [table], lambda: table, where)

    @classmethod
    def gathered(
        cls, schema: pa.Schema, parts: Iterable[pa.Table], whole: Callable[[], pa.Table], where: str = "scores"
    ) -> Self:
        """From parts that come one by one; `whole` reads all of them again for those who ask for `table`."""
        made = cls.__new__(cls)
        made._fill(schema, parts, whole, where)
        return made

    def _fill(self, schema: pa.Schema, parts: Iterable[pa.Table], whole: Callable[[], pa.Table], where: str) -> None:
        _require(schema, where)
        self.where, self._whole = where, whole
        self.roles = Roles.read(schema, where)
        rows: Gathering | None = None
        for part in (_typed(part, self.roles.metrics, where) for part in parts if len(part)):
            rows = rows or Gathering(part.schema, self.roles)
            rows.add(part)
        if rows is None:
            raise InputError(f"{where}: it has no rows: there is nothing to compare.")
        self.rows = rows.rows()
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
        kept = (*(by_name[name] for name in metrics), *(name for name in self.metrics if name not in known))
        some = copy(self)
        some.roles = replace(self.roles, metrics=kept)
        return some

    @property
    def metrics(self) -> tuple[str, ...]:
        return self.roles.metrics

    @property
    def parameters(self) -> tuple[str, ...]:
        return self.roles.parameters

    @property
    def free(self) -> tuple[str, ...]:
        """Settings that may differ between the rows of one batch."""
        return self.roles.free

    @property
    def table(self) -> pa.Table:
        """Every column of every row, sorted by cell, measurement and seed; read anew each time where it is stored."""
        table = _typed(self._whole(), self.metrics, self.where)
        dropped = [name for name in self.rows.numbers if name not in self.metrics and name not in ROW_COSTS]
        table = table.drop_columns(dropped).sort_by([(name, "ascending") for name in KEYS])
        return table.replace_schema_metadata(self.roles.metadata()) if dropped else table

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def errors(self) -> Counter[str]:
        """Sentences of failed rows, and how many rows each has."""
        if "error" not in self.rows.repeated:
            return Counter()
        column = self.rows.repeated["error"]
        return Counter(column[column.valid].tolist())

    @property
    def failures(self) -> list[tuple[str, str, str]]:
        """Sentence, measurement and cell of failed rows."""
        failed, known = np.flatnonzero(self.rows.failed()), self.rows.repeated
        names = ("error", "measurement", "cell") if len(failed) else ()
        return list(zip(*(known[name][failed].tolist() for name in names), strict=True))

    def unscored(self, metric: str) -> int:
        """Rows without an error that a metric was never computed of."""
        return self.rows.lacking.get(metric, 0)

    @property
    def without_digest(self) -> int:
        """Rows that do not say what their measurement held."""
        column = self.rows.repeated.get("measurement_digest")
        return len(self) if column is None else int((~column.valid).sum())

    def recorded(self, name: str) -> list[object]:
        """The values that a column of `PROVENANCE` has anywhere, sorted; none where it is not there."""
        column = self.rows.repeated.get(name)
        return [] if column is None else list(column.values)

    def mean(self, cell: str, name: str) -> float | None:
        """Of a column of `ROW_COSTS` or a metric over the rows of a cell that have it; None where none has."""
        rows = self._slice(cell)
        if name not in self.rows.numbers and name not in self.rows.repeated:
            return None
        values = self.rows.column(name, rows)
        known = values[~np.isnan(values)]
        return float(known.mean()) if len(known) else None

    def measurements(self, cells: Iterable[str] | None = None) -> list[str]:
        """Names of the measurements of all cells, or of some, sorted."""
        column = self.rows.repeated["measurement"]
        seen = np.zeros(len(column.values), dtype=bool)
        for cell in self.rows.cells if cells is None else cells:
            seen[column.places[self._slice(cell)]] = True
        return [column.values[place] for place in np.flatnonzero(seen).tolist()]

    def cells_of(self, measurement: str) -> list[str]:
        """Cells that have rows of a measurement."""
        column = self.rows.repeated["measurement"]
        if measurement not in column.values:
            return []
        here = column.places == column.values.index(measurement)
        return [cell for cell, rows in self.rows.cells.items() if here[rows].any()]

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
        known, failed = self.rows.repeated, self.rows.failed(rows)
        digests = known.get("measurement_digest")
        return CellValues(
            label=self._labels[cell],
            metric=metric,
            measurements=known["measurement"][rows],
            seeds=known["seed"][rows].astype(np.int64),
            digests=np.full(len(failed), None, dtype=object) if digests is None else digests[rows],
            failed=failed,
            values=np.where(failed, np.nan, self.rows.numbers[metric][rows]),
        )

    def cell_columns(self, cells: Iterable[str], metric: str) -> CellColumns:
        """One metric of several cells, by their ids."""
        return CellColumns(cells, lambda cell: self.values(cell, metric))

    def _slice(self, cell: str) -> slice:
        rows = self.rows.cells
        if cell not in rows:
            raise InputError(f"cell: {self.where} has no {cell!r}; it has {shorten(', '.join(rows))}.")
        return rows[cell]

    @cached_property
    def _settings(self) -> dict[str, dict[str, Parameter]]:
        """Shared parameters by cell, in the order of their values."""
        found = self.rows.settings
        return {cell: found[cell] for cell in sorted(found, key=lambda cell: (_order(found[cell].items()), cell))}

    @cached_property
    def _labels(self) -> dict[str, str]:
        labels = cell_labels(self._settings, shown_settings(self._settings))
        return {cell: with_task(task_of(self._settings[cell]), label) for cell, label in labels.items()}

    def _refuse_duplicates(self) -> None:
        row = self.rows.first_repeat()
        if row is not None:
            cell, measurement, seed = (self.rows.repeated[name][row] for name in KEYS)
            raise InputError(
                f"{self.where}: cell {cell!r} has measurement {measurement!r} with seed {seed} "
                "more than once: each work item must be there once."
            )


def _require(schema: pa.Schema, where: str) -> None:
    missing = [name for name in _REQUIRED if name not in schema.names]
    if missing:
        raise InputError(f"{where}: column {missing[0]!r} is missing; a scored table has {', '.join(_REQUIRED)}.")


def _typed(table: pa.Table, metrics: Sequence[str], where: str) -> pa.Table:
    for name in _REQUIRED:
        if table[name].null_count:
            raise InputError(f"{where}: column {name!r} has {table[name].null_count} empty values: it must have none.")
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


def _order(settings: Iterable[tuple[str, Parameter]]) -> list[tuple[str, bool, Parameter]]:
    """A key that sorts by value; an absent value comes first, so that None is never compared with a number."""
    return [(name, value is not None, 0 if value is None else value) for name, value in settings]
