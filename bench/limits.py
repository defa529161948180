"""What a plan for hundreds of devices rests on: sizes and rates of the plan, of its reading, and of commits to S3.

Each row is one thing done many times: how often per second, and how many bytes each takes. Memory is that of Python
objects which the driver holds while the sweep runs.
"""

import os
import random
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa

from bench.registry import Effort, Ratio, stands_for
from bench.sweeps import build_manifest, specification
from cluster.services.object_store import ObjectStore
from pipelines.plan.planned_items import PlannedItems
from pipelines.plan.planning import Plan, make_plan
from pipelines.plan.sweep_spec import SweepSpec
from pipelines.solve.attaching import Attach
from pipelines.solve.attempts import Attempts, Worker
from pipelines.storage.sweep_folder import SweepFolder

_PICTURES, _SHARD = 100, 16
_CELLS = {"quick": 2, "normal": 1000, "full": 10_000}
_COMMITS = {"quick": 8, "normal": 400, "full": 2000}
_WRITERS = 8
_PICTURE_BYTES = 100_000
"""A 256x256 PNG of a photograph, about."""


@stands_for(
    Ratio("items planned", "per_second", 10_000, unit="/s", where={"what": "plan an item"}),
    Ratio("memory of the driver for a shard", "bytes_each", 300, "lower", "B", where={"what": "read a shard's name"}),
    Ratio("shards committed to S3", "per_second", 10, unit="/s", where={"what": "commit a shard to S3"}),
)
def run(effort: Effort) -> list[dict[str, Any]]:
    """Plan, reading ahead, commits, notes and listing."""
    with tempfile.TemporaryDirectory(prefix="g2d2-bench-") as place:
        rows = _planning(Path(place), _CELLS[effort.level])
        if ObjectStore.binary() is None:
            return rows
        server = ObjectStore(Path(place) / "store")
        server.start()
        before = dict(os.environ)
        os.environ |= server.env
        try:
            return rows + _storing(SweepFolder(f"s3://{server.bucket}/limits"), _COMMITS[effort.level])
        finally:
            os.environ.clear()
            os.environ |= before
            server.erase()


def _planning(place: Path, cells: int) -> list[dict[str, Any]]:
    grid = {"cross": {"eta_kl": {"log": (1e-5, 1e-1), "count": cells}}}
    spec = specification(place, build_manifest(place, _PICTURES), grid=grid)
    folder, plans = SweepFolder(spec.output), list[Plan]()
    rows = [_timed("plan an item", _PICTURES * cells, lambda: plans.append(make_plan(spec, folder)))]
    plan = plans[0]
    size = os.stat(folder.store.path(folder.plan_name(plan.id))).st_size
    tracemalloc.start()
    planned = PlannedItems(folder, plan.id)
    shards, items = planned.shards, len(planned)
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    rows[0]["bytes_each"] = size / items
    rows.append(_timed("read a shard's name", len(shards), lambda: PlannedItems(folder, plan.id).shards))
    rows[1]["bytes_each"] = held / len(shards)
    return [*rows, _reading(spec, plan)]


def _reading(spec: SweepSpec, plan: Plan) -> dict[str, Any]:
    """What one reader process does ahead of the devices."""
    attach, shards = Attach(spec.output, spec.manifest, plan.id), plan.shards[:200]
    sizes: list[int] = []

    def read() -> None:
        for shard in shards:
            ref = pa.table({"shard": [shard.name], "first": [shard.first], "count": [shard.count]})
            sizes.append(attach(ref).nbytes)

    read()  # opens the plan and the manifest
    sizes.clear()
    row = _timed("read a shard ahead", len(shards), read)
    return row | {"bytes_each": sum(sizes) / len(sizes)}


def _storing(folder: SweepFolder, count: int) -> list[dict[str, Any]]:
    pictures = [random.Random(row).randbytes(_PICTURE_BYTES) for row in range(_SHARD)]
    shard = pa.table({"image": pictures})
    names = [f"{index:08x}" for index in range(count)]
    worker = Worker("run", "device")

    def commit(name: str) -> None:
        folder.store.write_table(folder.solved_name(name), shard)

    def note(name: str) -> None:
        attempts = Attempts.open(folder, name, worker)
        attempts.begin([name])
        attempts.done()

    _together(note, ["first"] * _WRITERS)  # opens the connections
    rows = [
        _timed("commit a shard to S3", count, lambda: _together(commit, names)),
        _timed("note an attempt on S3", count, lambda: _together(note, names)),
        _timed("list a name on S3", count, lambda: folder.solved_shards()),
    ]
    rows[0]["bytes_each"] = _SHARD * _PICTURE_BYTES
    return rows


def _together(work: Callable[[str], None], names: Iterable[str]) -> None:
    with ThreadPoolExecutor(_WRITERS) as pool:
        list(pool.map(work, names))


def _timed(what: str, count: int, work: Callable[[], object]) -> dict[str, Any]:
    started = time.perf_counter()
    work()
    seconds = time.perf_counter() - started
    return {"what": what, "count": count, "seconds": seconds, "per_second": count / seconds, "bytes_each": None}
