"""The run of a grid cell: its settings, its means with their intervals, a look at its reconstructions."""

from functools import partial
from typing import Any

from eval.scores import ScoreTable
from eval.seconds import CellSeconds
from eval.statistics import bootstrap_interval
from pipelines.cells import Cell
from pipelines.identity import fingerprint
from pipelines.scoring import COSTS
from pipelines.tracking.panels import Panels
from pipelines.tracking.record import Record
from pipelines.tracking.runs import COUNTED, Content

CONTENT_VERSION = 2
"""Raised when the same results should be logged anew."""


def cell_content(record: Record, cell: Cell, panels: Panels) -> Content:
    """What is logged of a cell."""
    spec, shown, distances = record.spec, panels.measurements(cell.id), record.distances.get(cell.id, {})
    note = f"Rows with `cell == {cell.id}` of {record.scores_url}."
    for distance in distances.values():
        if not distance.whole:
            note += f"\n\n{distance.name} is not logged: {distance.problem()}."
    if shown:
        note += f"\n\npanel.png: truth, measurement, reconstruction of {', '.join(shown)}."
    return Content(
        key=f"{cell.id}-{record.scoring}",
        name=record.label(cell),
        digest=cell_digest(record.scores, cell.id, [shown, [*map(repr, distances.values())]] if distances else shown),
        tags=lambda: {
            "sweep": spec.name, "prior": spec.prior, "manifest": spec.manifest, "results": record.scores_url,
            "cell": cell.id, "mlflow.note.content": note,
        },
        params={"task": cell.task} | {name: str(value) for name, value in cell.settings.items()},
        metrics=lambda: cell_metrics(record.scores, cell.id, record.seconds.get(cell.id))
        | {one.name: one.value for one in distances.values() if one.value is not None and one.whole},
        artifacts=partial(panels.draw, cell.id),
        failed=all_failed(record.scores, cell.id),
    )  # fmt: skip


def cell_metrics(scores: ScoreTable, cell: str, seconds: CellSeconds | None) -> dict[str, float]:
    """Means with 95 % intervals resampled by measurement, seconds as in the report; finite values only."""
    found: dict[str, float] = {} if seconds is None else {"seconds": seconds.seconds}
    for metric in scores.metrics:
        column = scores.values(cell, metric)
        found |= {"count": float(len(column.values)), "failed": float(column.failed_count)}
        if metric == "seconds":
            continue
        if metric in COSTS:
            found |= {metric: float(column.values[column.finite].mean())} if column.finite.any() else {}
            continue
        if column.non_finite_count:
            found[f"{COUNTED}{metric}"] = float(column.non_finite_count)
        if column.finite.any():
            interval = bootstrap_interval(column.values, column.measurements)
            found[metric] = interval.mean
            if interval.low is not None and interval.high is not None:
                found |= {f"{metric}_low": interval.low, f"{metric}_high": interval.high}
    return found


def cell_digest(scores: ScoreTable, cell: str, beside: Any) -> str:
    """Over every number the cell's metrics come from, and what else is logged."""
    columns = [scores.values(cell, metric) for metric in scores.metrics]
    first = columns[0]
    rows = [first.measurements.tolist(), first.seeds.tolist(), first.digests.tolist(), first.failed.tolist()]
    values = [[column.metric, column.values.tobytes().hex()] for column in columns]
    return fingerprint("tracked cell", CONTENT_VERSION, rows, values, beside)


def all_failed(scores: ScoreTable, cell: str) -> bool:
    """Not one work item of the cell was solved."""
    return bool(scores.values(cell, scores.metrics[0]).failed.all())
