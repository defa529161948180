"""What MLflow's table of runs opens with: the cells of one sweep, what varies and the means as columns.

MLflow's own table shows neither params nor metrics until each is chosen by hand. It keeps named views as tags of the
experiment; this writes one.
"""

import json
from typing import Any

from pipelines.score.stored_sweep import StoredSweep
from pipelines.track.charts import chart_states

TAG = "mlflow.sharedViewState."
_MOST = 20_000
"""Characters that MLflow keeps of an experiment's tag; it refuses a longer one."""


def saved_view(sweep: StoredSweep, parent: str, made: int) -> str:
    """A view in MLflow's own form, under the sweep's name; the cell with the best first metric comes first.

    As many charts as fit into a tag.
    """
    record = sweep.record
    first = record.metrics[0]
    distances = dict.fromkeys(name for cell in sweep.distances.values() for name in cell)
    methods = ["method"] if len({cell.method for cell in record.cells}) > 1 else []
    columns = [_key("params", name) for name in ["task", "arm", *methods, *record.shown]]
    columns += [_key("metrics", name) for name in [*(m.name for m in record.metrics), *distances, "failed", "seconds"]]
    state = {
        "searchFilter": f"tags.mlflow.parentRunId = '{parent}'",
        "orderByKey": _key("metrics", first.name),
        "orderByAsc": first.direction == "lower",
        "selectedColumns": columns,
        "columnOrder": columns,  # else metrics come before params, in the order of the alphabet
        "columnWidths": {_key("params", "task"): 40 + 8 * max(map(len, record.tasks))},
        "runsHiddenMode": "SHOWALL",  # charts begin with ten runs else
    }
    value = ""
    for charts in chart_states(record):
        view = {"name": sweep.spec.name, "createdAt": made, "updatedAt": made, "state": _dense(state | charts)}
        value = _dense(view)
        if len(value) <= _MOST:
            break
    return value


def view_path(experiment: str, sweep: str | None, charts: bool = False) -> str:
    """The part of a browser's address after the server's, without a sweep of all runs; with `charts`, of their page."""
    view = "" if sweep is None else f"viewStateShareKey={sweep}&"
    mode = "&compareRunsMode=CHART" if charts else ""
    return f"/#/experiments/{experiment}/runs?{view}workflowType=machine_learning{mode}"


def _dense(value: Any) -> str:
    """Without spaces, which would take the place of charts."""
    return json.dumps(value, separators=(",", ":"))


def _key(kind: str, name: str) -> str:
    return f"{kind}.`{name}`"
