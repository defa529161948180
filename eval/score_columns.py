"""The columns of a scored table: which are metrics and which parameters, and tables of several methods as one.

The Arrow schema's metadata says it, under `g2d2` and as JSON: {"version": 2, "metrics": facts of each metric,
"parameters": names, "free": settings that may differ within a batch, "scoring": version of the scorer}.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import pyarrow as pa

from eval.metrics.info import COSTS, MetricInfo
from eval.metrics.registry import METRICS, column_info
from operators import InputError
from operators.validation import shorten

SCHEMA_VERSION = 2
METADATA_KEY = b"g2d2"
UNRECORDED_SCORING = 1
"""The version of scoring that did not write itself down."""

FIXED = {
    "item": pa.string(),
    "measurement": pa.string(),
    "measurement_digest": pa.string(),
    "cell": pa.string(),
    "seed": pa.int64(),
    "error": pa.string(),
}
CELL_COLUMNS = ("task", "arm", "method", "prior")
"""The first parameters of every row that this program scores; settings follow."""

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

RESERVED = frozenset({*FIXED, *CELL_COLUMNS, *PROVENANCE, *ROW_COSTS, *COSTS})
"""Names that no setting and no metric may have, since every scored row has such a column."""

_FREE_BEFORE = (
    "process", "eta_kl", "gamma", "learning_rate", "lambda_kl", "lambda_lr", "guidance", "temperature",
)  # fmt: skip
"""Free settings of G2D2, the one method that tables of version 1 know."""


@dataclass(frozen=True)
class Roles:
    """What the columns of a table are."""

    metrics: tuple[str, ...]
    parameters: tuple[str, ...]
    free: tuple[str, ...] = ()
    """Settings that may differ between the rows of one batch."""
    scoring: int | None = None
    """Version of the scorer; None where the metadata was lost."""
    infos: Mapping[str, MetricInfo] = field(default_factory=dict)
    """Facts of the metrics that the table itself describes."""

    @classmethod
    def read(cls, schema: pa.Schema, where: str) -> Self:
        """From the metadata or, failing that, from the names of the columns."""
        stored = (schema.metadata or {}).get(METADATA_KEY)
        if stored is None:
            known = {*METRICS.names(), *COSTS}
            metrics = tuple(name for name in schema.names if name in known)
            aside = {*metrics, *FIXED, *PROVENANCE, *ROW_COSTS}
            return cls(metrics, _scalars(schema, (name for name in schema.names if name not in aside)))
        try:
            roles = cls._stored(json.loads(stored), where)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(
                f"{where}: the metadata {METADATA_KEY.decode()!r} is damaged: write the table again."
            ) from None
        absent = [name for name in (*roles.metrics, *roles.parameters) if name not in schema.names]
        if absent:
            raise InputError(f"{where}: column {absent[0]!r} is missing although the metadata names it.")
        return replace(roles, parameters=_scalars(schema, roles.parameters))

    @classmethod
    def _stored(cls, facts: dict[str, Any], where: str) -> Self:
        version = facts["version"]
        scoring, parameters = facts.get("scoring", UNRECORDED_SCORING), tuple(facts["parameters"])
        if version == 1:
            return cls(tuple(facts["metrics"]), parameters, _FREE_BEFORE, scoring)
        if version != SCHEMA_VERSION:
            raise InputError(
                f"{where}: its schema version is {shorten(version)}: this program reads 1 and {SCHEMA_VERSION}."
            )
        infos = {info.name: info for info in map(MetricInfo.from_facts, facts["metrics"])}
        return cls(tuple(infos), parameters, tuple(facts["free"]), scoring, infos)

    def info(self, metric: str) -> MetricInfo:
        """From the table itself, else from the registry; of a metric that neither knows no direction is better."""
        return self.infos.get(metric) or column_info(metric)

    def metadata(self) -> dict[bytes, bytes]:
        """As an Arrow schema carries it."""
        facts = {
            "version": SCHEMA_VERSION,
            "metrics": [self.info(name).facts() for name in self.metrics],
            "parameters": list(self.parameters),
            "free": list(self.free),
        }
        return {METADATA_KEY: json.dumps(facts if self.scoring is None else facts | {"scoring": self.scoring}).encode()}


def score_schema(
    metrics: Sequence[str | MetricInfo],
    parameters: Mapping[str, pa.DataType],
    beside: Mapping[str, pa.DataType] | None = None,
    scoring: int = UNRECORDED_SCORING,
    free: Sequence[str] = (),
) -> pa.Schema:
    """The schema a scorer writes; `error` is null where the item was solved, and a failed item's metrics are NaN.

    `beside` are columns that are neither, such as those of `PROVENANCE`; `scoring` is the version of the scorer;
    `free` are parameters that may differ between the rows of one batch.
    """
    infos = {info.name: info for info in (column_info(one) if isinstance(one, str) else one for one in metrics)}
    names = [*FIXED, *parameters, *(one if isinstance(one, str) else one.name for one in metrics), *(beside or {})]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"score columns: {', '.join(twice)} is named twice: each column needs a name of its own.")
    roles = Roles(tuple(infos), tuple(parameters), tuple(free), scoring, infos)
    fields = [*FIXED.items(), *parameters.items(), *((name, pa.float64()) for name in infos), *(beside or {}).items()]
    return pa.schema(fields, metadata=roles.metadata())


def with_metrics(
    table: pa.Table, columns: Mapping[str, pa.ChunkedArray], infos: Mapping[str, MetricInfo] | None = None
) -> pa.Table:
    """A scored table with more metrics, which its metadata names before those that are costs."""
    if not columns:
        return table
    roles = Roles.read(table.schema, "scores")
    before = [name for name in roles.metrics if name not in COSTS]
    named = (*before, *columns, *(name for name in roles.metrics if name in COSTS))
    for name, column in columns.items():
        table = table.append_column(name, column)
    roles = replace(roles, metrics=named, infos={**roles.infos, **(infos or {})})
    return table.replace_schema_metadata(roles.metadata())


def scoring_version(table: pa.Table) -> int | None:
    """Of the scorer that wrote a table; None where its metadata was lost."""
    stored = (table.schema.metadata or {}).get(METADATA_KEY)
    return None if stored is None else json.loads(stored).get("scoring", UNRECORDED_SCORING)


def refuse_reserved(names: Iterable[str], owner: str) -> None:
    """Raise an InputError for a setting that would take the place of a column which every scored row has."""
    taken = sorted(RESERVED & set(names))
    if taken:
        raise InputError(f"{owner}: {taken[0]!r} is a column of every scored table; call the setting otherwise.")


def arrow_type(values: Iterable[object]) -> pa.DataType:
    """The type of a column that holds these values of a setting; numbers become doubles where any is one."""
    kinds = {_ARROW.get(type(value), pa.string()) for value in values if value is not None}
    return _common(kinds) if kinds else pa.null()


def united(first: pa.Schema, other: pa.Schema) -> pa.Schema:
    """The schema of two tables of one scoring, whose methods may have other settings; a ValueError where it is not one.

    A setting that is a whole number in one table and a fraction in the other is a double.
    """
    if first.equals(other, check_metadata=True):
        return first
    a, b = Roles.read(first, "scores"), Roles.read(other, "scores")
    settings = {*a.parameters, *b.parameters, *_empty(first), *_empty(other)}
    plain = [
        [(name, schema.field(name).type) for name in schema.names if name not in settings] for schema in (first, other)
    ]
    if plain[0] != plain[1] or (a.metrics, a.scoring) != (b.metrics, b.scoring):
        raise ValueError("its columns are not those of other shards")
    parameters = tuple(dict.fromkeys(name for schema in (first, other) for name in schema.names if name in settings))
    kinds = {name: _common({s.field(name).type for s in (first, other) if name in s.names}) for name in parameters}
    roles = replace(a, parameters=parameters, free=tuple(dict.fromkeys([*a.free, *b.free])))
    at = len(FIXED)
    fields = [*plain[0][:at], *kinds.items(), *plain[0][at:]]
    return pa.schema(fields, metadata=roles.metadata())


def filled(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """A table under a schema that `united` made: null where it has no such setting."""
    columns = [
        table[one.name].cast(one.type) if one.name in table.column_names else pa.nulls(len(table), one.type)
        for one in schema
    ]
    return pa.table(columns, schema=schema)


_ARROW = {float: pa.float64(), int: pa.int64(), str: pa.string(), bool: pa.bool_()}


def _common(kinds: set[pa.DataType]) -> pa.DataType:
    kinds = {kind for kind in kinds if not pa.types.is_null(kind)} or {pa.null()}
    if len(kinds) == 1:
        return kinds.pop()
    return pa.float64() if kinds == {pa.int64(), pa.float64()} else pa.string()


def _empty(schema: pa.Schema) -> list[str]:
    """Settings that no row of a table has a value of."""
    return [one.name for one in schema if pa.types.is_null(one.type)]


def _scalars(schema: pa.Schema, names: Iterable[str]) -> tuple[str, ...]:
    return tuple(name for name in names if _is_scalar(schema.field(name).type))


def _is_scalar(kind: pa.DataType) -> bool:
    types = pa.types
    plain = (types.is_string, types.is_large_string, types.is_integer, types.is_floating, types.is_boolean)
    return any(check(kind) for check in plain) or (types.is_dictionary(kind) and _is_scalar(kind.value_type))
