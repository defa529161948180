"""The accepted night shown in MLflow: the tag `g2d2.baseline` on its run. The store stays the truth."""

from functools import partial

from pipelines.nightly.nightly_spec import NightlySpec
from pipelines.nightly.records import BaselineRecord, NightRecord
from pipelines.track import Tracked
from pipelines.track.server import Server, destination

TAG = "g2d2.baseline"


def run_of(tracked: Tracked) -> dict[str, str]:
    """What a night's record keeps of its MLflow run."""
    return {"id": tracked.parent_run_id, "experiment": tracked.experiment, "url": tracked.url}


def mirror(spec: NightlySpec, baseline: BaselineRecord) -> str | None:
    """Move the tag to the accepted night's run; the run's address, or None where the night was not tracked."""
    night: NightRecord = baseline.night
    sweep = spec.sweep_spec(night.night)
    if night.run is None or not sweep.tracking.enabled:
        return None
    server = Server(destination(sweep.tracking, sweep.output), spec.output)
    experiment, run = server.experiment(night.run["experiment"]), night.run["id"]
    wanted = f"tags.`{TAG}` = '{spec.name}'"
    for old in server.call(lambda: server.client.search_runs([experiment], wanted)):
        if old.info.run_id != run:
            server.call(partial(server.client.delete_tag, old.info.run_id, TAG))
    for name, value in {
        TAG: spec.name,
        "g2d2.baseline.reason": baseline.reason,
        "g2d2.baseline.by": baseline.by,
    }.items():
        server.call(partial(server.client.set_tag, run, name, value))
    return night.run["url"]
