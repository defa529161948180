"""What MLflow's table of runs opens with: the cells of one sweep, what varies and the means as columns.

MLflow's own table shows neither params nor metrics until each is chosen by hand. It keeps named views as tags of the
experiment; this writes one.
"""

import json

from pipelines.score.stored_sweep import StoredSweep
from pipelines.track.charts import chart_state

TAG = "mlflow.sharedViewState."


def saved_view(sweep: StoredSweep, parent: str, made: int) -> str:
    """A view in MLflow's own form, under the sweep's name; the cell with the best first metric comes first."""
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
        **chart_state(record),
    }
    view = {"name": sweep.spec.name, "createdAt": made, "updatedAt": made, "state": json.dumps(state)}
    return json.dumps(view)


def view_path(experiment: str, sweep: str, charts: bool = False) -> str:
    """The part of a browser's address after the server's; with `charts`, of the page of charts."""
    mode = "&compareRunsMode=CHART" if charts else ""
    return f"/#/experiments/{experiment}/runs?viewStateShareKey={sweep}&workflowType=machine_learning{mode}"


def _key(kind: str, name: str) -> str:
    return f"{kind}.`{name}`"
