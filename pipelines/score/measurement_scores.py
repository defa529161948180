"""What a measurement alone is worth, and its truth: the x that each shows, scored once, to hold methods against."""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import torch

from eval.metrics import ScoredRow, metric_columns, metric_info, score_rows
from eval.record.measured import real_column
from operators import InputError, find_signal, stack_operators
from pipelines.console.progress import progress
from pipelines.manifest import Manifest, content_digest, read_row
from pipelines.plan.item_ids import fingerprint
from pipelines.plan.planning import Plan
from pipelines.plan.sweep_spec import SweepSpec
from pipelines.schemas import MEASUREMENT_KEYS, measurement_schema
from pipelines.score.scoring import loaded_metric, scored_row
from pipelines.score.scorings import Scoring
from pipelines.solve.devices import connect
from pipelines.solve.patience import announce
from pipelines.storage import readable
from pipelines.storage.sweep_folder import SweepFolder

CHUNK = 64
"""Measurements scored by one task."""
_PLACE = ("measurement", "manifest_shard", "manifest_row")


def score_measurements(
    spec: SweepSpec,
    folder: SweepFolder,
    plan: Plan,
    scoring: Scoring,
    again: bool = False,
) -> None:
    """Score the plan's measurements that are not yet, or all `again`; a fault is told and costs no result."""
    try:
        scorer = ReferenceScorer.of(spec, scoring)
        if not scorer.metrics and not scorer.alone:
            return
        for chunk in folder.reference_chunks(scoring.id) if again else _outdated(folder, scoring):
            folder.delete(folder.references_name(scoring.id, chunk))
        chunks = _missing_chunks(folder, plan, scoring.id)
        if len(chunks):
            connect()
            from pipelines.solve.streaming import score_references  # imports Ray, which reads its settings then

            total = sum(map(len, chunks["rows"].to_pylist()))
            with progress(total, "measurements") as bar, closing(score_references(chunks, scorer)) as lines:
                for line in lines:
                    bar.update(line["rows"])
            for chunk in chunks["chunk"].to_pylist():
                folder.committed(folder.references_name(scoring.id, chunk))
    except InputError as error:
        announce(f"the measurements themselves are not scored: {error}")


def judged(metrics: Iterable[str]) -> list[str]:
    """Those that say better and worse: how far y is from itself says nothing."""
    return [name for name in metrics if metric_info(name).direction != "none"]


def looking_at_x_alone(metrics: Iterable[str]) -> list[str]:
    """Those that read nothing but x: only by them can a truth be worth more or less."""
    return [name for name in metrics if not metric_info(name).needs]


def _real_columns(metrics: Iterable[str]) -> list[str]:
    return [real_column(name) for name in metric_columns(looking_at_x_alone(metrics))]


def collected_references(folder: SweepFolder, plan: Plan, scorings: Sequence[Scoring]) -> pa.Table | None:
    """The metrics of all scorings as one file beside the chunks; None, and told, where they cannot be read."""
    table: pa.Table | None = None
    try:
        for scoring in scorings:
            known = [] if table is None else table.column_names
            columns = [*metric_columns(judged(scoring.metrics)), *_real_columns(scoring.metrics)]
            metrics = [name for name in columns if name not in known]
            other = read_references(folder, plan, scoring.id, metrics) if metrics else None
            if other is not None:
                table = other if table is None else _joined(table, other, metrics)
    except InputError as error:
        again = f"`g2d2 score {folder.url} --again` scores them anew."
        announce(f"the measurements themselves are not shown: {error} {again}")
        return None
    if table is not None:
        folder.store.write_table(folder.references_table_name(plan.id, scorings[0].id), table)
    return table


def read_collected(folder: SweepFolder, plan: str, scoring: str) -> pa.Table | None:
    """What `collected_references` wrote; None where it wrote nothing."""
    name = folder.references_table_name(plan, scoring)
    if not folder.store.exists(name):
        return None
    table = folder.store.read_table(name)
    with readable(folder.store.url(name)):
        if not {*MEASUREMENT_KEYS} <= {*table.column_names} or any(table[name].null_count for name in MEASUREMENT_KEYS):
            raise ValueError("its rows do not say which measurements they are of")
    return table


def _joined(table: pa.Table, other: pa.Table, metrics: Sequence[str]) -> pa.Table:
    """More metrics of the same measurements; null where the other scoring lacks one."""
    places = pc.index_in(table["digest"], value_set=other["digest"].combine_chunks())
    for name in metrics:
        table = table.append_column(name, other[name].take(places))
    return table


def read_references(folder: SweepFolder, plan: Plan, scoring: str, metrics: Sequence[str]) -> pa.Table | None:
    """The plan's measurements with their digests, tasks and the columns of these metrics; None where none is scored."""
    columns = [*MEASUREMENT_KEYS, *metrics]

    def read(chunk: str) -> pa.Table:
        return folder.store.read_table(folder.references_name(scoring, chunk), columns=columns)

    tables = [table for _, table in folder.read_many(sorted(folder.reference_chunks(scoring)), read)]
    if not tables:
        return None
    table = pa.concat_tables(tables)
    table = table.filter(pc.is_in(table["digest"], value_set=_measurements(plan)["digest"]))
    first = table.append_column("row", pa.array(range(len(table)))).group_by("digest").aggregate([("row", "min")])
    return table.take(first["row_min"]).sort_by([("task", "ascending"), ("measurement", "ascending")])


@dataclass(frozen=True)
class ReferenceScorer:
    """Scores chunks of measurements of one sweep."""

    output: str
    manifest_url: str
    scoring: str
    metrics: tuple[str, ...]
    """Of what measurements show, as the specification names them."""
    alone: tuple[str, ...] = ()
    """Of truths."""

    @classmethod
    def of(cls, spec: SweepSpec, scoring: Scoring) -> "ReferenceScorer":
        names = scoring.metrics
        return cls(spec.output, spec.manifest, scoring.id, tuple(judged(names)), tuple(looking_at_x_alone(names)))

    @cached_property
    def manifest(self) -> Manifest:
        return Manifest.open(self.manifest_url)

    def __call__(self, chunk: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
        """Commit a chunk's scores: NaN where a measurement shows no x, or has no truth."""
        places = [(row["manifest_shard"], row["manifest_row"]) for row in rows]
        table = self.manifest.fetch_measured(places, [row["digest"] for row in rows])
        stored = {row["digest"]: read_row(table, index) for index, row in enumerate(rows)}
        whole = {digest: row for digest, row in stored.items() if content_digest(row) == digest}
        numbers = _numbers(self.metrics, _estimates(whole))
        of_truths = _numbers(self.alone, _truths(whole) if self.alone else {})
        numbers |= {real_column(name): values for name, values in of_truths.items()}
        lines = [
            {name: row[name] for name in MEASUREMENT_KEYS}
            | {name: values.get(row["digest"], math.nan) for name, values in numbers.items()}
            for row in rows
        ]
        folder = SweepFolder(self.output)
        folder.store.write_table(
            folder.references_name(self.scoring, chunk),
            pa.Table.from_pylist(lines, schema=measurement_schema(numbers)),
        )
        return {"rows": len(rows)}


def _numbers(metrics: Iterable[str], rows: dict[str, ScoredRow]) -> dict[str, dict[str, float]]:
    """By column, the values of rows by digest."""
    columns = score_rows([loaded_metric(name) for name in metrics], list(rows.values()))
    return {name: dict(zip(rows, values.tolist(), strict=True)) for name, values in columns.items()}


def _truths(measured: dict[str, dict[str, Any]]) -> dict[str, ScoredRow]:
    """By digest, the truth in the place of a reconstruction; a row without one, or that cannot be read, is absent."""
    truths = {}
    for digest, row in measured.items():
        with suppress(InputError):
            own = scored_row(row, torch.empty(0))
            if own.truth is not None:
                truths[digest] = replace(own, x=own.truth)
    return truths


def _estimates(measured: dict[str, dict[str, Any]]) -> dict[str, ScoredRow]:
    """By digest, the x that a measurement shows without any method, beside its truth; one that shows none is absent."""
    groups: dict[tuple[Any, ...], dict[str, ScoredRow]] = defaultdict(dict)
    for digest, row in measured.items():
        with suppress(InputError):  # a row that cannot be read has no score
            own = scored_row(row, torch.empty(0))
            groups[row["task"], own.operator.name, own.operator.x_shape, own.operator.y_shape][digest] = own
    estimates: dict[str, ScoredRow] = {}
    for rows in groups.values():
        operator = stack_operators([row.operator for row in rows.values()])
        x = operator.estimate(torch.stack([row.y for row in rows.values()]).double())
        if x is not None:
            clip = find_signal(operator.signal).clip
            estimates |= {d: replace(row, x=clip(one)) for (d, row), one in zip(rows.items(), x.float(), strict=True)}
    return estimates


def _outdated(folder: SweepFolder, scoring: Scoring) -> list[str]:
    """Chunks of an earlier version, which did not score truths."""
    if not (wanted := {*_real_columns(scoring.metrics)}):
        return []
    names = {chunk: folder.references_name(scoring.id, chunk) for chunk in folder.reference_chunks(scoring.id)}
    return [chunk for chunk, name in names.items() if wanted - {*folder.store.read_table(name).column_names}]


def _missing_chunks(folder: SweepFolder, plan: Plan, scoring: str) -> pa.Table:
    """The plan's measurements that are not scored yet, a row per task: their places, digests, names and tasks."""
    wanted = _measurements(plan)
    known = read_references(folder, plan, scoring, ())
    left = wanted if known is None else wanted.filter(pc.invert(pc.is_in(wanted["digest"], value_set=known["digest"])))
    rows = [left.slice(first, CHUNK) for first in range(0, len(left), CHUNK)]
    return pa.table(
        {
            "chunk": [fingerprint("references", part["digest"].to_pylist()) for part in rows],
            "rows": pa.array([part.to_pylist() for part in rows], pa.list_(pa.struct(list(wanted.schema)))),
        }
    )


def _measurements(plan: Plan) -> pa.Table:
    """Distinct measurements of a plan in the manifest's order: digest, measurement, place and task."""
    first = plan.rows.first_rows("measurement_digest")
    tasks = {cell.id: cell.task for cell in plan.cells}
    return pa.table(
        {
            "digest": first["measurement_digest"],
            "task": pa.array([tasks[cell] for cell in first["cell"].to_pylist()], pa.string()),
            **{name: first[name] for name in _PLACE},
        }
    ).sort_by([("manifest_shard", "ascending"), ("manifest_row", "ascending")])
