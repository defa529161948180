"""The stream through Ray Data: shards of work items to devices, solved shards to scoring tasks."""

import gc
import logging
import os
import socket
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import ray
from ray.data import ActorPoolStrategy, DataContext, TaskPoolStrategy
from ray.data._internal.execution.execution_callback import ExecutionCallback
from ray.data.exceptions import SystemException
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from operators import InputError
from pipelines.manifest import read_row
from pipelines.plan.work_items import Shard
from pipelines.schemas import LOAD_SCHEMA
from pipelines.score.measurement_scores import ReferenceScorer
from pipelines.score.scoring import ShardScorer
from pipelines.solve.attaching import Attach
from pipelines.solve.attempts import DEATHS, Attempts, Worker
from pipelines.solve.dealing import Dealer, Dealing, Watcher
from pipelines.solve.devices import Placement
from pipelines.solve.solving import ShardSolver, SolverConfig
from pipelines.storage.sweep_folder import SweepFolder

_LINE = pa.schema(
    [
        ("shard", pa.string()),
        ("rows", pa.int64()),
        ("failed", pa.int64()),
        ("device", pa.string()),
        ("seconds", pa.float64()),
        ("messages", pa.list_(pa.string())),
        ("load", pa.struct(LOAD_SCHEMA)),
        ("skipped", pa.bool_()),
    ]
)
"""What a device says of a shard that it has committed."""
_SKIPPED = {"rows": 0, "failed": 0, "device": "", "seconds": 0.0, "messages": [], "load": None, "skipped": True}
"""Of a shard that nobody wants any more."""
_RETRIES = "\nFailed to "
"""How the lines begin that Ray Data adds to a worker's sentence, about settings of its own."""


class SolveStage:
    """A device: `ShardSolver` behind Ray Data's calling convention."""

    def __init__(self, config: SolverConfig, dealer: Any = None):
        self.refused: Exception | None = None
        self.dealer = dealer
        try:
            node = ray.get_runtime_context().get_node_id()
            self.solver = ShardSolver(config, node=node, living=_living_nodes, loading=_Loading(config))
        except Exception as error:  # raised here it would arrive as the text of a traceback; `__call__` raises it whole
            self.refused = error

    def __call__(self, shards: pa.Table) -> pa.Table:
        if self.refused is not None:
            raise self.refused
        (shard,), (stream,) = shards["shard"].to_pylist(), shards["items"]
        if not self._wanted(shard):
            return pa.Table.from_pylist([_SKIPPED | {"shard": shard}], schema=_LINE)
        items = pa.ipc.open_stream(stream.as_buffer()).read_all()
        rows = [read_row(items, row) for row in range(len(items))]
        return pa.Table.from_pylist([self.solver(shard, rows) | {"skipped": False}], schema=_LINE)

    def _wanted(self, shard: str) -> bool:
        """Since it was given, its cell may have left a race."""
        if self.dealer is None:
            return True
        device = ray.get_runtime_context().get_actor_id()  # which stays when its process is replaced
        return bool(ray.get(self.dealer.begin.remote(shard, device)))


@dataclass(frozen=True)
class _Loading:
    """Around the loading of a prior or method: Ray restarts an actor that dies meanwhile, without end; this counts."""

    config: SolverConfig

    @contextmanager
    def __call__(self, what: str) -> Iterator[None]:
        context = ray.get_runtime_context()
        folder, actor = SweepFolder(self.config.output), context.get_actor_id()
        worker = Worker(self.config.run, f"{socket.gethostname()}:{os.getpid()}", context.get_node_id(), _living_nodes)
        attempts = Attempts.open(folder, f"loading-{actor}", worker)
        if attempts.deaths(actor) >= DEATHS:
            raise InputError(
                f"{what}: {DEATHS} workers in a row died while loading it, the last on "
                f"{attempts.failed[-1].device}; is there enough memory for it? The logs of Ray's workers tell more; "
                "RAY_TMPDIR keeps those of a Ray that this command starts."
            )
        attempts.begin([actor])
        yield
        attempts.done()


def _living_nodes() -> list[str]:
    return [node["NodeID"] for node in ray.nodes() if node["Alive"]]


class ScoreStage:
    """A scoring task."""

    def __init__(self, scorer: ShardScorer):
        self.scorer = scorer

    def __call__(self, lines: pa.Table) -> pa.Table:
        scored = [line if line.get("skipped") else line | self.scorer(line["shard"]) for line in lines.to_pylist()]
        return pa.Table.from_pylist(scored, schema=_LINE if "skipped" in lines.column_names else None)


def solve_and_score(
    plan: str,
    shards: list[Shard],
    config: SolverConfig,
    scorer: ShardScorer,
    placement: Placement,
    watcher: Watcher | None = None,
) -> Generator[dict[str, Any], None, None]:
    """Solve shards on all devices and score each as soon as it is committed; yields a line per scored shard.

    With a watcher they are given one by one, by what it knows when a device needs one; those that are not wanted any
    more are skipped, and their lines say so.
    """
    dealer = None if watcher is None else _dealer(shards, placement, watcher)
    given = None if dealer is None else _Given(dealer)
    attach = Attach(config.output, scorer.manifest_url, plan, config.run, given)
    rows = _shard_rows(shards) if dealer is None else one_row_blocks(pa.table({"ticket": [*range(len(shards))]}))
    dataset = rows.map_batches(
        attach,
        batch_size=1,
        batch_format="pyarrow",
        num_cpus=0.1,
        # each reader is a process; one keeps many devices fed, since solving takes far longer than reading
        compute=TaskPoolStrategy(size=1 + placement.actors // 16),
    )
    dataset = dataset.map_batches(
        SolveStage,
        fn_constructor_args=(config, dealer),
        batch_size=1,
        batch_format="pyarrow",
        num_gpus=placement.gpus,
        num_cpus=placement.cpus,
        compute=_pool(placement, len(shards)),
    )
    dataset = dataset.map_batches(ScoreStage(scorer), batch_size=1, batch_format="pyarrow", num_cpus=1)
    with closing(_run(dataset)) as lines:
        for line in lines:
            yield line  # who takes it tells the watcher
            if watcher is not None and dealer is not None:
                dealer.update.remote(watcher.turn())


def _dealer(shards: list[Shard], placement: Placement, watcher: Watcher) -> Any:
    """An actor beside this process, with which it lives and dies."""
    node = ray.get_runtime_context().get_node_id()
    here = ray.remote(Dealer).options(num_cpus=0, scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False))
    return here.remote(Dealing(shards, watcher.laps, placement.actors, watcher.turn()))


@dataclass(frozen=True)
class _Given:
    """The shard of a ticket, as soon as there is one."""

    dealer: Any

    def __call__(self, ticket: int) -> Shard:
        shard: Shard = ray.get(self.dealer.take.remote(ticket))
        return shard


def _pool(placement: Placement, shards: int) -> ActorPoolStrategy:
    """GPU actors come and go with their nodes: one is enough to go on. Cores are shared out once."""
    actors = min(placement.actors, shards)  # others would load the prior for nothing
    least = 1 if placement.gpus else actors
    return ActorPoolStrategy(
        min_size=least, max_size=placement.most, initial_size=actors, max_tasks_in_flight_per_actor=2
    )


def score_only(shards: list[Shard], scorer: ShardScorer) -> Generator[dict[str, Any], None, None]:
    """Score shards that are solved already."""
    yield from _run(
        _shard_rows(shards).map_batches(ScoreStage(scorer), batch_size=1, batch_format="pyarrow", num_cpus=1)
    )


class ReferenceStage:
    """A task that scores measurements themselves."""

    def __init__(self, scorer: ReferenceScorer):
        self.scorer = scorer

    def __call__(self, chunks: pa.Table) -> pa.Table:
        return pa.Table.from_pylist([self.scorer(chunk["chunk"], chunk["rows"]) for chunk in chunks.to_pylist()])


def score_references(chunks: pa.Table, scorer: ReferenceScorer) -> Generator[dict[str, Any], None, None]:
    """Score measurements themselves, chunk by chunk."""
    dataset = one_row_blocks(chunks)
    yield from _run(dataset.map_batches(ReferenceStage(scorer), batch_size=1, batch_format="pyarrow", num_cpus=1))


def _shard_rows(shards: list[Shard]) -> Any:
    columns = {
        "shard": [shard.name for shard in shards],
        "first": pa.array([shard.first for shard in shards], pa.int64()),
        "count": pa.array([shard.count for shard in shards], pa.int64()),
    }
    return one_row_blocks(pa.table(columns))


class _WithoutStatistics(ExecutionCallback):  # type: ignore[misc]
    """Drops what Ray Data keeps of every block for a table of its own that nobody reads: two kilobytes a shard."""

    def on_execution_step(self, executor: Any) -> None:
        for operator in executor._topology:
            for blocks in operator.get_stats().values():
                blocks.clear()


def one_row_blocks(table: pa.Table) -> Any:
    """A dataset whose every row is a task's worth, with the settings that a sweep needs."""
    with DataContext.current(_context()):  # a dataset keeps a copy of the context it was made in
        return ray.data.from_arrow(table).repartition(target_num_rows_per_block=1)


def _context() -> DataContext:
    """Ray Data's settings for a sweep; those of other datasets in this process stay as they are."""
    context = DataContext.get_current().copy()
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    context.custom_execution_callback_classes = [_WithoutStatistics]
    context.issue_detectors_config.detectors = []
    context.raise_original_map_exception = True  # Ray's own wrapping loses what a worker said on the way here
    context.target_max_block_size = None  # a shard must arrive whole
    context.execution_no_progress_timeout_s = -1  # a batch may take an hour; `watchdog` knows which takes too long
    # a waiting queue calls for more actors; none is let go before the work runs out, since each has loaded the prior
    context.autoscaling_config.actor_pool_util_upscaling_threshold = 1.5
    context.autoscaling_config.actor_pool_util_downscaling_threshold = 0.0
    return context


def _run(dataset: Any) -> Generator[dict[str, Any], None, None]:
    logging.getLogger("ray.data").setLevel(logging.CRITICAL)  # we show progress and say what failed
    try:
        for batch in dataset.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=0):
            yield from batch.to_pylist()
    except ray.exceptions.RayError as error:
        raise _sentence(error) from error
    finally:
        del dataset
        gc.collect()  # a dataset that failed holds its devices until it is collected


def _sentence(error: BaseException) -> InputError:
    """What a worker said, without Ray's wrapping: that is of the worker's own class too, with a traceback as text."""
    causes = [error]
    while (inner := getattr(causes[-1], "cause", None) or causes[-1].__cause__) is not None and inner not in causes:
        causes.append(inner)
    own = [cause for cause in causes if not isinstance(cause, ray.exceptions.RayError | SystemException)]
    sentence = next((cause for cause in reversed(own) if isinstance(cause, InputError)), None)
    if sentence is not None:
        return InputError(str(sentence.args[0]).partition(_RETRIES)[0])
    last = own[-1] if own else error
    text = str(last).strip()
    if isinstance(last, ray.exceptions.RayTaskError):  # its cause could not travel; a traceback ends with it
        text = text.splitlines()[-1]
    return InputError(f"a worker failed ({type(last).__name__}): {' '.join(text.split())[:500]}")
