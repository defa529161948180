"""Scored results: one Parquet row per work item, and the table that statistics, gates and reports read.

A work item is a measurement solved with some settings and a seed. The columns are `item`, `measurement`,
`measurement_digest`, `cell`, `seed`, `error`, then any parameters and metrics; which is which stands in the Arrow
schema's metadata.
"""

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from eval.score_files import read_table
from operators import InputError
from operators.credentials import refuse_secrets
from operators.validation import did_you_mean, shorten

SCHEMA_VERSION = 1
METADATA_KEY = b"g2d2"
UNRECORDED_SCORING = 1
"""The version of scoring that did not write itself down."""
_SCORING = "scoring"
KNOWN_METRICS = (
    "psnr",
    "psnr_8bit",
    "ssim",
    "lpips_vgg",
    "lpips_alex",
    "residual",
    "residual_norm",
    "seconds",
    "peak_bytes",
)
"""What counts as a metric in a table whose metadata was lost."""

_FIXED = {
    "item": pa.string(),
    "measurement": pa.string(),
    "measurement_digest": pa.string(),
    "cell": pa.string(),
    "seed": pa.int64(),
    "error": pa.string(),
}
_REQUIRED = ("measurement", "cell", "seed")

PROVENANCE = {
    "device": pa.string(),
    "batch_rows": pa.int32(),
    "networks": pa.string(),
    "torch": pa.string(),
    "threads": pa.int32(),
    "processor": pa.string(),
}
"""What a row was solved on: part of no id, and yet it can change the last bits."""

ROW_COSTS = {
    "seconds": pa.float64(),
    "prior_seconds": pa.float64(),
    "prior_calls": pa.int64(),
    "decoder_calls": pa.int64(),
}
"""What a row took: of the seconds of its batch its share, and exact counts."""

Parameter = str | int | float | bool | None


def score_schema(
    metrics: Sequence[str],
    parameters: Mapping[str, pa.DataType],
    beside: Mapping[str, pa.DataType] | None = None,
    scoring: int = UNRECORDED_SCORING,
) -> pa.Schema:
    """The schema a scorer writes; `error` is null where the item was solved, and a failed item's metrics are NaN.

    `beside` are columns that are neither, such as those of `PROVENANCE`; `scoring` is the version of the scorer.
    """
    names = [*_FIXED, *parameters, *metrics, *(beside or {})]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"score columns: {', '.join(twice)} is named twice: each column needs a name of its own.")
    fields = [*_FIXED.items(), *parameters.items(), *((name, pa.float64()) for name in metrics)]
    fields += (beside or {}).items()
    return pa.schema(fields, metadata=_metadata(metrics, parameters, scoring))


def with_metrics(table: pa.Table, columns: Mapping[str, pa.ChunkedArray]) -> pa.Table:
    """A scored table with more metrics, which its metadata names before those that are costs."""
    if not columns:
        return table
    metrics, parameters = _roles(table, "scores")
    costs = [name for name in metrics if name in ROW_COSTS or name == "peak_bytes"]
    named = [*(name for name in metrics if name not in costs), *columns, *costs]
    for name, column in columns.items():
        table = table.append_column(name, column)
    return table.replace_schema_metadata(_metadata(named, parameters, scoring_version(table)))


def scoring_version(table: pa.Table) -> int | None:
    """Of the scorer that wrote a table; None where its metadata was lost."""
    stored = (table.schema.metadata or {}).get(METADATA_KEY)
    return None if stored is None else json.loads(stored).get(_SCORING, UNRECORDED_SCORING)


def _metadata(metrics: Sequence[str], parameters: Iterable[str], scoring: int | None) -> dict[bytes, bytes]:
    facts = {"version": SCHEMA_VERSION, "metrics": list(metrics), "parameters": list(parameters)}
    return {METADATA_KEY: json.dumps(facts if scoring is None else facts | {_SCORING: scoring}).encode()}


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
        self.metrics, self.parameters = _roles(table, where)
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
        """The same rows with these metrics alone, and the costs."""
        known = [name for name in self.metrics if name not in ("seconds", "peak_bytes")]
        for name in metrics:
            if name not in known:
                near, others = did_you_mean(name, known), ", ".join(known) or "none"
                raise InputError(f"metrics: {self.where} has no {name!r}{near}; it has {others}.")
        table = self.table.drop_columns([name for name in known if name not in metrics])
        kept = [*metrics, *(name for name in self.metrics if name not in known)]
        return ScoreTable(
            table.replace_schema_metadata(_metadata(kept, self.parameters, scoring_version(table))), where=self.where
        )

    def cells(self) -> list[str]:
        """Cell ids in the order of their parameters, whatever the order of the rows."""
        return list(self._settings)

    def cell_parameters(self, cell: str) -> dict[str, Parameter]:
        """The parameters all items of a cell share; one that changes inside a cell belongs to its measurements."""
        self._slice(cell)
        return dict(self._settings[cell])

    def cell_label(self, cell: str) -> str:
        """A name for people, from the parameters that differ between cells: `star, eta_kl=0.0003, gamma=0.1`."""
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
        shown = [name for name in self.parameters if self._varies(name)]
        if not shown:  # a lone cell is told by its words rather than by a hash
            shown = [n for n in self.parameters if any(isinstance(s.get(n), str) for s in self._settings.values())]
        plain = {
            cell: ", ".join(_worded(name, settings[name]) for name in shown if settings.get(name) is not None)
            for cell, settings in self._settings.items()
        }
        used = Counter(plain.values())
        return {
            cell: cell if not text else text if used[text] == 1 else f"{text} ({cell})" for cell, text in plain.items()
        }

    def _varies(self, name: str) -> bool:
        return len({settings.get(name) for settings in self._settings.values()}) > 1

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


def _roles(table: pa.Table, where: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Which columns are metrics and which parameters, from the metadata or, failing that, from their names."""
    stored = (table.schema.metadata or {}).get(METADATA_KEY)
    if stored is None:
        metrics = tuple(name for name in KNOWN_METRICS if name in table.column_names)
        aside = {*metrics, *_FIXED, *PROVENANCE, *ROW_COSTS}
        rest = [name for name in table.column_names if name not in aside]
        return metrics, tuple(name for name in rest if _is_scalar(table.schema.field(name).type))
    try:
        facts = json.loads(stored)
        version, metrics, parameters = facts["version"], tuple(facts["metrics"]), tuple(facts["parameters"])
    except (ValueError, KeyError, TypeError):
        raise InputError(
            f"{where}: the metadata {METADATA_KEY.decode()!r} is damaged: write the table again."
        ) from None
    if version != SCHEMA_VERSION:
        raise InputError(f"{where}: its schema version is {shorten(version)}: this program reads {SCHEMA_VERSION}.")
    absent = [name for name in (*metrics, *parameters) if name not in table.column_names]
    if absent:
        raise InputError(f"{where}: column {absent[0]!r} is missing although the metadata names it.")
    return metrics, tuple(name for name in parameters if _is_scalar(table.schema.field(name).type))


def _is_scalar(kind: pa.DataType) -> bool:
    types = pa.types
    plain = (types.is_string, types.is_large_string, types.is_integer, types.is_floating, types.is_boolean)
    return any(check(kind) for check in plain) or (types.is_dictionary(kind) and _is_scalar(kind.value_type))


def _typed(table: pa.Table, metrics: Sequence[str], where: str) -> pa.Table:
    wanted = {**_FIXED, **{name: pa.float64() for name in metrics}}
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


def _worded(name: str, value: Parameter) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return f"{name}={value:g}"
    return f"{name}={str(value).lower()}"
