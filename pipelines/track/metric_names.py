"""Names of MLflow's metrics that hold a task's."""

import re


def plain_task(task: str) -> str:
    """A task's name as MLflow allows it in a metric's."""
    return re.sub(r"[^\w./ :-]", "_", task)


def task_metric(task: str, metric: str) -> str:
    """A cell's mean under its task, or its task and arm: charts of one leave out the runs of others."""
    return f"{plain_task(task)}/{metric}"
