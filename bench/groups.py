"""What a change of prior costs a device: the same shards ordered by prior, and going back and forth between two."""

import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import pyarrow as pa

from bench.registry import Effort, Ratio, stands_for
from bench.sweeps import build_manifest, specification
from g2d2.priors import load_prior
from g2d2.priors.locating import locate_prior
from pipelines.manifest import read_row
from pipelines.plan.planning import Plan, make_plan
from pipelines.plan.sweep_spec import SweepSpec
from pipelines.plan.work_items import Shard
from pipelines.solve.attaching import Attach
from pipelines.solve.solving import ShardSolver, SolverConfig
from pipelines.storage.sweep_folder import SweepFolder

_BATCH = 16
_SHARDS = {"quick": 1, "normal": 2, "full": 16}
"""Of each prior."""


@stands_for(Ratio("share of loading, shards by prior", "share_of_loading", 0.1, "lower", where={"order": "by prior"}))
def run(effort: Effort) -> list[dict[str, Any]]:
    """One row per order of the shards."""
    with tempfile.TemporaryDirectory(prefix="g2d2-bench-") as place:
        folder = Path(place)
        twin = shutil.copytree(str(locate_prior("cifar10").folder), folder / "twin")
        short = {"steps": 2, "iterations": 2} if effort.level == "quick" else {}
        arm = {"preset": "tuned", "settings": short}
        spec = specification(
            folder,
            build_manifest(folder, _BATCH * _SHARDS[effort.level]),
            prior=None,
            arms={"first": arm | {"prior": "cifar10"}, "second": arm | {"prior": str(twin)}},
        )
        plan = make_plan(spec, SweepFolder(spec.output))
        half = len(plan.shards) // 2
        orders = {
            "by prior": plan.shards,
            "back and forth": [
                shard for pair in zip(plan.shards[:half], plan.shards[half:], strict=True) for shard in pair
            ],
        }
        load_prior("cifar10")  # imports its libraries, which a device does once whatever the order
        return [_solve(name, spec, plan, shards) for name, shards in orders.items()]


def _solve(name: str, spec: SweepSpec, plan: Plan, shards: list[Shard]) -> dict[str, Any]:
    """Seconds of one device for all shards in this order, and those in which it loaded priors."""
    device = ShardSolver(SolverConfig(spec.output, plan.priors, spec.resources, spec.keep, threads=1))
    attach, loading, loads = Attach(spec.output, spec.manifest, plan.id, name), 0.0, 0
    started = time.perf_counter()
    for shard in shards:
        refs = pa.table({"shard": [shard.name], "first": [shard.first], "count": [shard.count]})
        (stream,) = attach(refs)["items"]
        items = pa.ipc.open_stream(stream.as_buffer()).read_all()
        rows = [read_row(items, row) for row in range(len(items))]
        before, held = time.perf_counter(), device.loaded.name
        device.hold(rows[0]["prior"])
        loading += time.perf_counter() - before
        loads += device.loaded.name != held
        device(shard.name, rows)
    seconds = time.perf_counter() - started
    return {
        "order": name,
        "images": sum(shard.count for shard in shards),
        "loads": loads,
        "seconds_per_load": loading / loads,
        "seconds": seconds,
        "share_of_loading": loading / seconds,
    }
