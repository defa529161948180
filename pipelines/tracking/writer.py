"""The one writer: a parent run per sweep, a child run per grid cell, each logged once."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from operators.validation import validate
from pipelines.progress import progress
from pipelines.scorings import scoring_id
from pipelines.spec import SweepSpec, Tracking
from pipelines.terminal import command
from pipelines.tracking.cell_run import cell_content
from pipelines.tracking.environment import environment
from pipelines.tracking.panels import Panels
from pipelines.tracking.record import Record
from pipelines.tracking.runs import Runs
from pipelines.tracking.server import Server, destination
from pipelines.tracking.sweep_run import REPORT, sweep_content
from pipelines.tracking.view import TAG, saved_view, view_path

if TYPE_CHECKING:
    from pipelines.sweep import SweepResult


@dataclass(frozen=True)
class Tracked:
    """What was logged, and where to look at it."""

    experiment: str
    parent_run_id: str
    cells_logged: int
    cells_skipped: int
    """Cells that were logged before and have not changed."""
    url: str
    """The parent run in a browser; the database where there is no server."""
    table: str
    """The sweep's cells in a browser; where there is no server, as `mlflow ui` serves them by default."""

    def where(self) -> str:
        """What to do to look at it."""
        if "/#/" in self.url:
            return f"MLflow: {self.table}"
        return f"MLflow: {command('mlflow')} ui --backend-store-uri {self.url}\n  open: {self.table}"


def track(result: "SweepResult", spec: SweepSpec, page: bytes | None = None) -> Tracked:
    """Log a sweep that has just ended, with this page as its report where one is made already."""
    return write(
        Record(
            folder=result.folder,
            spec=spec,
            summary={"environment": environment()} | result.summary,
            cells=result.plan.cells,
            scores=result.scores,
            scores_url=result.scores_url,
            scoring=scoring_id(spec.metrics, spec.distribution),  # what is logged has it in its keys
        ),
        page,
    )


def track_folder(url: str, uri: str | None = None, metrics: Sequence[str] | None = None) -> Tracked:
    """Log the sweep in this folder, to `uri` where its own tracking address should not be used.

    `metrics` are the only ones to log, and the only distances.
    """
    record = Record.read(url) if metrics is None else Record.read(url).only(metrics)
    if uri is not None:
        tracking = validate(Tracking, record.spec.tracking.model_dump() | {"uri": uri}, where="tracking")
        record = replace(record, spec=record.spec.model_copy(update={"tracking": tracking}))
    return write(record)


def write(record: Record, page: bytes | None = None) -> Tracked:
    """Log what is not logged yet. The parent is completed last: a complete parent has complete children."""
    place = destination(record.spec.tracking, record.folder.store.url())
    server = Server(place, record.folder.store.url())
    name = record.spec.tracking.experiment
    experiment = server.experiment(name)
    runs = Runs(server, experiment, record.key())
    panels = Panels(record)
    contents = [cell_content(record, cell, panels) for cell in record.scored]
    sweep = sweep_content(record, [content.digest for content in contents], page)
    parent = runs.begin(sweep)
    logged = 0
    with progress(len(contents), "MLflow runs") as bar:
        for content in contents:
            logged += runs.complete(runs.begin(content, parent.info.run_id), content)
            bar.update(1)
    if not runs.complete(parent, sweep) and page is not None:
        runs.attach(parent, {REPORT: page})  # the same numbers, but it may judge them by others now
    run_id, view = parent.info.run_id, f"{TAG}{runs.sweep}"
    server.call(
        lambda: server.client.set_experiment_tag(experiment, view, saved_view(record, run_id, parent.info.start_time))
    )
    url, table = place.run_url(experiment, run_id), place.browser() + view_path(experiment, runs.sweep)
    return Tracked(name, run_id, logged, len(contents) - logged, url, table)
