"""The run of a grid cell: what it is, its means with their intervals, a look at its reconstructions."""

from collections.abc import Iterable
from functools import partial
from typing import Any

from eval.cell_labels import IDENTITY
from eval.distribution.results import CellDistance
from eval.record import CellResult
from eval.scores import ScoreTable
from pipelines.plan.item_ids import fingerprint
from pipelines.score.race_rows import race_row
from pipelines.score.stored_sweep import StoredSweep
from pipelines.track.charts import chart_metrics, log_params
from pipelines.track.evaluated import Evaluated
from pipelines.track.panels import PANEL, TABLE, Panels, logged_table
from pipelines.track.runs import COUNTED, Content

CONTENT_VERSION = 5
"""Raised when the same results should be logged anew."""


def cell_content(sweep: StoredSweep, cell: CellResult, panels: Panels, evaluated: Evaluated | None = None) -> Content:
    """What is logged of a cell."""
    spec, shown, distances = sweep.spec, panels.measurements(cell), sweep.distances.get(cell.id, {})
    note = f"Rows with `cell == {cell.id}` of {sweep.scores_url}."
    logged = [one for one in distances.values() if sweep.record.beside_others(cell, one)]
    for distance in distances.values():
        if distance not in logged:
            why = distance.problem() or "other cells of this race saw more images, and more make it smaller"
            note += f"\n\n{distance.name} is not logged: {why}."
    if shown:
        note += f"\n\n{PANEL} and {TABLE}: truth, measurement, reconstruction of {', '.join(shown)}."
    identity = cell_identity(cell)
    raced = race_tags(sweep, cell)
    beside = raced and raced | {"distances": ", ".join(one.name for one in logged)}  # which depends on other cells
    return Content(
        key=f"{cell.id}-{sweep.scoring}",
        name=cell.title,
        digest=cell_digest(sweep.scores, cell.id, _beside(shown, distances.values(), beside)),
        tags=lambda: identity | raced | {
            "sweep": spec.name, "manifest": spec.manifest, "results": sweep.scores_url, "cell": cell.id,
            "mlflow.note.content": note, **({"mlflow.loggedArtifacts": logged_table()} if shown else {}),
        },
        params=identity | {name: str(value) for name, value in _settings(cell).items()},
        axes=log_params(sweep.record, cell),
        drawn=chart_metrics(sweep.record, cell),
        metrics=lambda: cell_metrics(sweep, cell)
        | {name: value for one in logged for name, value in _logged(one).items()},
        artifacts=partial(panels.draw, cell),
        failed=not cell.solved,
        evaluated=evaluated,
    )  # fmt: skip


def _logged(distance: CellDistance) -> dict[str, float]:
    """A distance over all of a cell's images, and the same number of the truths where they have one."""
    if distance.value is None:
        return {}
    real = {} if distance.of_truth is None else {f"{distance.name}_real": distance.of_truth}
    return {distance.name: distance.value, **real}


def race_tags(sweep: StoredSweep, cell: CellResult) -> dict[str, str]:
    """What became of a cell in its race, by whom it was beaten and on what evidence."""
    if sweep.race is None or sweep.record.race is None or cell.id not in sweep.race.of_cell:
        return {}
    heat, runner = sweep.race.of_cell[cell.id]
    leaders = {defeat.leader for defeat in runner.beaten.values()}
    row = race_row(heat, runner, {leader: sweep.record.cell(leader).label for leader in leaders})
    known = {"beaten_by": row["beaten_by"], "evidence": row["evidence"] and f"{row['evidence']:.3g}"}
    return {"race": sweep.record.race.marks.get(cell.id, "")} | {name: word for name, word in known.items() if word}


def _beside(shown: list[str], distances: Iterable[CellDistance], raced: dict[str, str]) -> Any:
    """What of a cell is logged besides its scores; as few as there are, since it decides whether to log anew."""
    facts = [*map(repr, distances)]
    beside: Any = [shown, facts] if facts else shown
    return [beside, raced] if raced else beside


def cell_identity(cell: CellResult) -> dict[str, str]:
    """Task, arm, method and prior; what is empty is left out."""
    known = {"task": cell.task, "arm": cell.arm, "method": cell.method, "prior": cell.prior}
    return {name: value for name, value in known.items() if value}


def cell_metrics(sweep: StoredSweep, cell: CellResult) -> dict[str, float]:
    """Means with 95 % intervals resampled by measurement, seconds as in the report; finite values only."""
    metrics = {"count": float(cell.count), "failed": float(cell.failed)}
    metrics |= {f"{COUNTED}{metric}": float(count) for metric, count in cell.not_finite.items()}
    for metric, mean in cell.means.items():
        metrics[metric] = mean.mean
        if mean.low is not None and mean.high is not None:
            metrics |= {f"{metric}_low": mean.low, f"{metric}_high": mean.high}
    memory = sweep.record.cost(cell, "peak_bytes")
    metrics |= {} if memory is None else {"peak_gib": memory.mean / 2**30}
    return metrics if cell.seconds is None else metrics | {"seconds": cell.seconds}


def cell_digest(scores: ScoreTable, cell: str, beside: Any) -> str:
    """Over every number the cell's metrics come from, and what else is logged."""
    columns = [scores.values(cell, metric) for metric in scores.metrics]
    first = columns[0]
    rows = [first.measurements.tolist(), first.seeds.tolist(), first.digests.tolist(), first.failed.tolist()]
    values = [[column.metric, column.values.tobytes().hex()] for column in columns]
    return fingerprint("tracked cell", CONTENT_VERSION, rows, values, beside)


def _settings(cell: CellResult) -> dict[str, Any]:
    return {name: value for name, value in cell.parameters.items() if value is not None and name not in IDENTITY}
