"""What the measurement alone is worth: y itself as an image, scored once per measurement, to hold methods against."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch

from eval.metrics import Scored, metric_info, score
from eval.report.ranking import shared_rows
from eval.scores import ScoreTable
from eval.statistics import Interval, bootstrap_interval
from operators import InputError, stack_operators
from pipelines.devices import connect
from pipelines.identity import fingerprint
from pipelines.layout import SweepFolder
from pipelines.manifest import (
    Manifest,
    build_row_operator,
    check_content,
    content_digest,
    decode_truth,
    measurement,
    read_row,
)
from pipelines.patience import tell
from pipelines.plan import Plan
from pipelines.progress import progress
from pipelines.scoring import loaded_metric
from pipelines.scorings import Scoring
from pipelines.spec import SweepSpec
from pipelines.storage import readable

CHUNK = 64
"""Measurements scored by one task."""
LABEL = "measurement"
"""What stands where a cell has its process."""
_NAMES = ("digest", "measurement", "task")
_PLACE = ("measurement", "manifest_shard", "manifest_row", "cell_index")


def score_measurements(spec: SweepSpec, folder: SweepFolder, plan: Plan, scoring: Scoring, again: bool = False) -> None:
    """Score the plan's measurements that are not yet, or all `again`; a fault is told and costs no result."""
    scorer = ReferenceScorer(spec.output, spec.manifest, scoring.id, tuple(judged(scoring.metrics)))
    if not scorer.metrics:
        return
    try:
        for chunk in folder.reference_chunks(scoring.id) if again else ():
            folder.store.delete(folder.references_name(scoring.id, chunk))
        chunks = _missing_chunks(folder, plan, scoring.id)
        if len(chunks):
            connect()
            from pipelines.streaming import score_references  # imports Ray, which reads its settings then

            total = sum(map(len, chunks["rows"].to_pylist()))
            with progress(total, "measurements") as bar, closing(score_references(chunks, scorer)) as lines:
                for line in lines:
                    bar.update(line["rows"])
    except InputError as error:
        tell(f"the measurements themselves are not scored: {error}")


def judged(metrics: Iterable[str]) -> list[str]:
    """Those that say better and worse: how far y is from itself says nothing."""
    return [name for name in metrics if metric_info(name).direction != "none"]


def collected_references(folder: SweepFolder, plan: Plan, scorings: Sequence[Scoring]) -> pa.Table | None:
    """The metrics of all scorings as one file beside the chunks; None, and told, where they cannot be read."""
    table: pa.Table | None = None
    try:
        for scoring in scorings:
            known = [] if table is None else table.column_names
            metrics = [name for name in judged(scoring.metrics) if name not in known]
            other = read_references(folder, plan, scoring.id, metrics) if metrics else None
            if other is not None:
                table = other if table is None else _joined(table, other, metrics)
    except InputError as error:
        tell(f"the measurements themselves are not shown: {error} `g2d2 score {folder.url} --again` scores them anew.")
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
        if not {*_NAMES} <= {*table.column_names} or any(table[name].null_count for name in _NAMES):
            raise ValueError("its rows do not say which measurements they are of")
    return table


def _joined(table: pa.Table, other: pa.Table, metrics: Sequence[str]) -> pa.Table:
    """More metrics of the same measurements; null where the other scoring lacks one."""
    places = pc.index_in(table["digest"], value_set=other["digest"].combine_chunks())
    for name in metrics:
        table = table.append_column(name, other[name].take(places))
    return table


def read_references(folder: SweepFolder, plan: Plan, scoring: str, metrics: Sequence[str]) -> pa.Table | None:
    """The plan's measurements with their digests, tasks and these metrics; None where none is scored."""
    columns = [*_NAMES, *metrics]

    def read(chunk: str) -> pa.Table:
        return folder.store.read_table(folder.references_name(scoring, chunk), columns=columns)

    tables = [table for _, table in folder.read_many(sorted(folder.reference_chunks(scoring)), read)]
    if not tables:
        return None
    table = pa.concat_tables(tables)
    table = table.filter(pc.is_in(table["digest"], value_set=_measurements(folder, plan)["digest"]))
    first = table.append_column("row", pa.array(range(len(table)))).group_by("digest").aggregate([("row", "min")])
    return table.take(first["row_min"]).sort_by([("task", "ascending"), ("measurement", "ascending")])


def measurement_means(references: pa.Table | None, scores: ScoreTable) -> dict[str, dict[str, Interval]]:
    """By task and metric, the mean over the measurements that the cells of the task are ranked on.

    A cell that failed on some would else stand beside a mean over others than its own.
    """
    means: dict[str, dict[str, Interval]] = {}
    if references is None:
        return means
    for task in pc.unique(references["task"]).to_pylist():
        part = references.filter(pc.equal(references["task"], task))
        names = np.array(part["measurement"].to_pylist(), dtype=object)
        cells = [cell for cell in scores.cells() if scores.cell_parameters(cell).get("task", task) == task]
        means[task] = {}
        for metric in (name for name in scores.metrics if name in part.column_names):
            values = part[metric].to_numpy().astype(np.float64)
            shared = {name for name, _ in shared_rows({cell: scores.values(cell, metric) for cell in cells})}
            kept = np.array([name in shared for name in names]) & np.isfinite(values)
            if kept.any():
                means[task][metric] = bootstrap_interval(values[kept], names[kept])
    return means


@dataclass(frozen=True)
class ReferenceScorer:
    """Scores chunks of measurements of one sweep."""

    output: str
    manifest_url: str
    scoring: str
    metrics: tuple[str, ...]

    @cached_property
    def manifest(self) -> Manifest:
        return Manifest.open(self.manifest_url)

    def __call__(self, chunk: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
        """Commit a chunk's scores; a measurement without a truth has NaN."""
        places = [(row["manifest_shard"], row["manifest_row"]) for row in rows]
        table = self.manifest.fetch_measured(places, [row["digest"] for row in rows])
        groups: dict[tuple[str, ...], list[tuple[dict[str, Any], Any]]] = defaultdict(list)
        for index, row in enumerate(rows):
            stored = read_row(table, index)
            try:
                check_content(stored, content_digest(stored), row["digest"])
                parts = decode_truth(stored), measurement(stored), build_row_operator(stored), stored
            except InputError:
                continue
            groups[row["task"], str(parts[0].shape)].append((row, parts))
        lines = [line for group in groups.values() for line in self._scored(group)]
        known, unscored = {line["digest"] for line in lines}, dict.fromkeys(self.metrics, math.nan)
        lines += [{name: row[name] for name in _NAMES} | unscored for row in rows if row["digest"] not in known]
        schema = pa.schema([(name, pa.string()) for name in _NAMES] + [(name, pa.float64()) for name in self.metrics])
        folder = SweepFolder(self.output)
        folder.store.write_table(
            folder.references_name(self.scoring, chunk), pa.Table.from_pylist(lines, schema=schema)
        )
        return {"rows": len(rows)}

    def _scored(self, group: list[tuple[dict[str, Any], Any]]) -> Iterator[dict[str, Any]]:
        truths, ys, operators, stored = zip(*(parts for _, parts in group), strict=True)
        operator, y = stack_operators(list(operators)), torch.stack(ys)
        scored = Scored(
            truth=torch.stack(truths),
            images=operator.as_image(y.double()).to(truths[0]).clamp(-1, 1),
            truth_keys=[row["source"] for row in stored],
        )
        values = score([loaded_metric(name) for name in self.metrics], scored)
        for index, (row, _) in enumerate(group):
            named = {name: row[name] for name in _NAMES}
            yield named | {name: float(column[index]) for name, column in values.items()}


def _missing_chunks(folder: SweepFolder, plan: Plan, scoring: str) -> pa.Table:
    """The plan's measurements that are not scored yet, a row per task: their places, digests, names and tasks."""
    wanted = _measurements(folder, plan)
    known = read_references(folder, plan, scoring, ())
    left = wanted if known is None else wanted.filter(pc.invert(pc.is_in(wanted["digest"], value_set=known["digest"])))
    rows = [left.slice(first, CHUNK) for first in range(0, len(left), CHUNK)]
    return pa.table(
        {
            "chunk": [fingerprint("references", part["digest"].to_pylist()) for part in rows],
            "rows": pa.array([part.to_pylist() for part in rows], pa.list_(pa.struct(list(wanted.schema)))),
        }
    )


def _measurements(folder: SweepFolder, plan: Plan) -> pa.Table:
    """Distinct measurements of a plan in the manifest's order: digest, measurement, place and task."""
    items = folder.store.read_table(folder.plan_name(plan.id), columns=["measurement_digest", *_PLACE])
    first = items.group_by("measurement_digest", use_threads=False).aggregate([(name, "first") for name in _PLACE])
    tasks = [plan.cells[index].task for index in first["cell_index_first"].to_pylist()]
    return pa.table(
        {
            "digest": first["measurement_digest"],
            "task": pa.array(tasks, pa.string()),
            **{name: first[f"{name}_first"] for name in _PLACE[:3]},
        }
    ).sort_by([("manifest_shard", "ascending"), ("manifest_row", "ascending")])
