"""What MLflow's table of runs opens with: the cells of one sweep, what varies and the means as columns.

MLflow's own table shows neither params nor metrics until each is chosen by hand. It keeps named views as tags of the
experiment; this writes one.
"""

import json

from eval.metrics import metric_info, metric_names
from pipelines.scoring import COSTS
from pipelines.tracking.record import Record

TAG = "mlflow.sharedViewState."


def saved_view(record: Record, parent: str, made: int) -> str:
    """A view in MLflow's own form, under the sweep's name; the cell with the best first metric comes first."""
    metrics = [name for name in record.scores.metrics if name not in COSTS]
    distances = dict.fromkeys(name for cell in record.distances.values() for name in cell)
    first = metrics[0]
    lower = first in metric_names() and metric_info(first).direction == "lower"
    columns = [_key("params", name) for name in dict.fromkeys(["task", "process", *record.varied])]
    columns += [_key("metrics", name) for name in [*metrics, *distances, "failed", "seconds"]]
    state = {
        "searchFilter": f"tags.mlflow.parentRunId = '{parent}'",
        "orderByKey": _key("metrics", first),
        "orderByAsc": lower,
        "selectedColumns": columns,
        "columnOrder": columns,  # else metrics come before params, in the order of the alphabet
        "columnWidths": {_key("params", "task"): 40 + 8 * max(len(cell.task) for cell in record.cells)},
    }
    view = {"name": record.spec.name, "createdAt": made, "updatedAt": made, "state": json.dumps(state)}
    return json.dumps(view)


def view_path(experiment: str, sweep: str) -> str:
    """The part of a browser's address after the server's."""
    return f"/#/experiments/{experiment}/runs?viewStateShareKey={sweep}&workflowType=machine_learning"


def _key(kind: str, name: str) -> str:
    return f"{kind}.`{name}`"
