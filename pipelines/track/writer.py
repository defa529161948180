"""The one writer: a parent run per sweep, a child run per grid cell, each logged once."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

from operators.validation import validate
from pipelines.console.progress import progress
from pipelines.console.terminal import command
from pipelines.plan.sweep_spec import Tracking
from pipelines.score.stored_sweep import StoredSweep
from pipelines.storage.sweep_folder import SweepFolder
from pipelines.track.cell_run import cell_content
from pipelines.track.evaluated import Evaluated, dataset, prior_models
from pipelines.track.panels import Panels
from pipelines.track.runs import Runs
from pipelines.track.server import Server, TrackingError, destination
from pipelines.track.sweep_run import REPORT, sweep_content, sweep_key, with_links
from pipelines.track.view import TAG, saved_view, view_path

log = logging.getLogger(__name__)


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
    charts: str = ""
    """Charts of them, likewise."""

    def where(self) -> str:
        """What to do to look at it."""
        if "/#/" in self.url:
            return f"MLflow: {self.table}\n  charts: {self.charts}"
        served = f"MLflow: {command('mlflow')} ui --backend-store-uri {self.url}"
        return f"{served}\n  open: {self.table}\n  charts: {self.charts}"


def track(sweep: StoredSweep, page: bytes | None = None) -> Tracked:
    """Log what is not logged yet, with this page as the report where one is made already.

    The parent is completed last: a complete parent has complete children.
    """
    place = destination(sweep.spec.tracking, sweep.folder.store.url())
    server = Server(place, sweep.folder.store.url())
    name = sweep.spec.tracking.experiment
    experiment = server.experiment(name)
    runs = Runs(server, experiment, sweep_key(sweep))
    panels = Panels(sweep)
    data, priors = dataset(sweep), prior_models(server, experiment, sweep)
    evaluated = {name: Evaluated(data, (model,)) for name, model in priors.items()}
    contents = [
        cell_content(sweep, cell, panels, evaluated.get(cell.prior, Evaluated(data))) for cell in sweep.record.cells
    ]
    whole = replace(
        sweep_content(sweep, [content.digest for content in contents], page),
        evaluated=Evaluated(data, tuple(priors.values())),
    )
    parent = runs.begin(whole)
    logged, children = 0, {}
    with progress(len(contents), "MLflow runs") as bar:
        for cell, content in zip(sweep.record.cells, contents, strict=True):
            run = runs.begin(content, parent.info.run_id)
            children[cell.id] = run.info.run_id
            logged += runs.complete(run, content)
            bar.update(1)
    whole = with_links(whole, experiment, children, sweep)
    if not runs.complete(parent, whole) and page is not None:
        runs.attach(parent, {REPORT: page})  # the same numbers, but it may judge them by others now
    run_id = parent.info.run_id
    view = saved_view(sweep, run_id, parent.info.start_time)
    key = runs.sweep if _view_is_saved(server, experiment, f"{TAG}{runs.sweep}", view) else None
    url, table = place.run_url(experiment, run_id), place.browser() + view_path(experiment, key)
    charts = place.browser() + view_path(experiment, key, charts=True)
    return Tracked(name, run_id, logged, len(contents) - logged, url, table, charts)


def _view_is_saved(server: Server, experiment: str, tag: str, view: str) -> bool:
    """A server that refuses the view has all the rest, which is worth more than the view."""
    try:
        server.call(lambda: server.client.set_experiment_tag(experiment, tag, view))
    except TrackingError as error:
        log.warning("everything is logged, but no view of it is saved: %s", error)
        return False
    return True


def track_folder(url: str, uri: str | None = None, metrics: Sequence[str] | None = None) -> Tracked:
    """Log the sweep in this folder, to `uri` where its own tracking address should not be used.

    `metrics` are the only ones to log, and the only distances.
    """
    sweep = StoredSweep.read(SweepFolder(url))
    sweep = sweep if metrics is None else sweep.only(metrics)
    if uri is not None:
        tracking = validate(Tracking, sweep.spec.tracking.model_dump() | {"uri": uri}, where="tracking")
        sweep = replace(sweep, spec=sweep.spec.model_copy(update={"tracking": tracking}))
    return track(sweep)
