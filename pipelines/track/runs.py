"""Runs that are logged once however often it is tried.

MLflow has no unique key and no transaction over a run, so three tags carry the protocol. `grid_key` says which run it
is. `g2d2.revision`, set before anything else, says which content is being written and counts its changes: the count is
the step of the metrics, so the newest values are the ones shown, and writing the same content again adds no point to
their history. `g2d2.logged`, set last, says that the content is there.
"""

import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipelines.track.evaluated import Evaluated
from pipelines.track.server import Server
from pipelines.track.system_metrics import SystemPoint

SWEEP, GRID_KEY, REVISION, LOGGED = "g2d2.sweep", "grid_key", "g2d2.revision", "g2d2.logged"
PARENT = "mlflow.parentRunId"
COUNTED = "non_finite_"
"""Metrics of this name are logged only above 0, and set to 0 when they fall there."""
_PAGE = 1000

Run = Any
"""An `mlflow.entities.Run`."""


@dataclass(frozen=True)
class Content:
    """All a run holds. What is slow to make is made only when it is logged."""

    key: str
    name: str
    digest: str
    """Of everything the metrics and artifacts are made from."""
    params: dict[str, str]
    """Only what the key stands for: MLflow cannot change a param."""
    tags: Callable[[], dict[str, str]]
    metrics: Callable[[], dict[str, float]]
    artifacts: Callable[[], dict[str, bytes]]
    failed: bool
    axes: dict[str, str] = field(default_factory=dict)
    """Params that charts need beside these; an extended grid may need more of runs that are logged."""
    drawn: dict[str, float] = field(default_factory=dict)
    """Metrics that charts need beside these, likewise."""
    evaluated: Evaluated | None = None
    """What its metrics are of."""
    system: Callable[[], Sequence[SystemPoint]] = tuple
    """How busy the machines were."""


class Runs:
    """The runs of one sweep in one experiment, by their keys."""

    def __init__(self, server: Server, experiment: str, sweep: str):
        self.server, self.experiment, self.sweep = server, experiment, sweep
        self.found = self._search()

    def begin(self, content: Content, parent: str | None = None) -> Run:
        """The run of this key, found or created, named and placed as it should be."""
        run = self.found.get(content.key) or self._create(content, parent)
        run_id = run.info.run_id
        if run.info.run_name != content.name:
            self._call("update_run", run_id, name=content.name)
        if parent is not None and run.data.tags.get(PARENT) != parent:
            self._call("set_tag", run_id, PARENT, parent)
        return run

    def complete(self, run: Run, content: Content) -> bool:
        """Log what the run lacks; False if it lacks nothing."""
        if run.data.tags.get(LOGGED) == content.digest:
            for name in content.axes.keys() - run.data.params.keys():
                self._call("log_param", run.info.run_id, name, content.axes[name])
            drawn = {name: value for name, value in content.drawn.items() if name not in run.data.metrics}
            if drawn:
                step = int(run.data.tags[REVISION].partition(" ")[0])
                self._call("log_batch", run.info.run_id, metrics=_points(run, content, drawn, step))
            return False
        step = self._revise(run, content)
        metrics = content.metrics() | content.drawn
        metrics |= {name: 0.0 for name in run.data.metrics if name.startswith(COUNTED) and name not in metrics}
        if content.evaluated is not None:
            self._call("log_inputs", run.info.run_id, **content.evaluated.inputs())
        self._log(run, content, metrics, step)
        self._log_system(run, content.system())
        self.attach(run, content.artifacts())
        self._call("set_terminated", run.info.run_id, "FAILED" if content.failed else "FINISHED")
        self._call("set_tag", run.info.run_id, LOGGED, content.digest)
        return True

    def attach(self, run: Run, files: dict[str, bytes]) -> None:
        """Store files with a run, in the place of those of the same names."""
        if files:
            with tempfile.TemporaryDirectory() as folder:
                for name, data in files.items():
                    Path(folder, name).parent.mkdir(parents=True, exist_ok=True)
                    Path(folder, name).write_bytes(data)
                self._call("log_artifacts", run.info.run_id, folder)

    def _revise(self, run: Run, content: Content) -> int:
        number, _, begun = run.data.tags[REVISION].partition(" ")
        if begun == content.digest:
            return int(number)
        self._call("set_tag", run.info.run_id, REVISION, f"{int(number) + 1} {content.digest}")
        return int(number) + 1

    def _log(self, run: Run, content: Content, metrics: dict[str, float], step: int) -> None:
        from mlflow.entities import Param, RunTag

        there = run.data
        params = content.params | content.axes
        self._call(
            "log_batch",
            run.info.run_id,
            metrics=_points(run, content, metrics, step),
            params=[Param(name, value) for name, value in params.items() if name not in there.params],
            tags=[RunTag(name, value) for name, value in content.tags().items() if there.tags.get(name) != value],
        )

    def _log_system(self, run: Run, points: Sequence[SystemPoint]) -> None:
        from mlflow.entities import Metric

        for first in range(0, len(points), _PAGE):
            metrics = [Metric(*point) for point in points[first : first + _PAGE]]
            self._call("log_batch", run.info.run_id, metrics=metrics)

    def _create(self, content: Content, parent: str | None) -> Run:
        tags = content.tags() | {SWEEP: self.sweep, GRID_KEY: content.key, REVISION: f"0 {content.digest}"}
        if parent is not None:
            tags[PARENT] = parent
        tried = False

        def create() -> Run:
            nonlocal tried
            if tried and content.key in (made := self._pages(content.key)):  # only the answer was lost
                return made[content.key][0]
            tried = True
            return self.server.client.create_run(self.experiment, tags=tags, run_name=content.name)

        return self.server.call(create)

    def _search(self) -> dict[str, Run]:
        """Runs by key; two writers at once can make one twice, and then the younger goes."""
        found = self.server.call(self._pages)
        for _, *younger in found.values():
            for run in younger:
                self._call("delete_run", run.info.run_id)
        return {key: runs[0] for key, runs in found.items()}

    def _pages(self, key: str | None = None) -> dict[str, list[Run]]:
        """All runs of the sweep, or of one key, the oldest first."""
        wanted = f"tags.`{SWEEP}` = '{self.sweep}'" + ("" if key is None else f" and tags.{GRID_KEY} = '{key}'")
        runs: list[Run] = []
        token = None
        while True:
            page = self.server.client.search_runs(
                [self.experiment], wanted, max_results=_PAGE, order_by=["attributes.start_time ASC"], page_token=token
            )
            runs += page
            token = page.token
            if not token:
                return _by_key(runs)

    def _call(self, method: str, *args: Any, **kwargs: Any) -> Any:
        return self.server.call(lambda: getattr(self.server.client, method)(*args, **kwargs))


def _points(run: Run, content: Content, metrics: dict[str, float], step: int) -> list[Any]:
    from mlflow.entities import Metric

    of = {} if content.evaluated is None else content.evaluated.of
    return [Metric(name, value, run.info.start_time, step, **of) for name, value in metrics.items()]


def _by_key(runs: Iterable[Run]) -> dict[str, list[Run]]:
    found: dict[str, list[Run]] = {}
    for run in runs:
        found.setdefault(run.data.tags[GRID_KEY], []).append(run)
    return found
