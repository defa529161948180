"""Images per second of a sweep against a bare loop of the solver over the same batches, one device of one thread each.

Two solvers: the real one on the embedded prior, and a stand-in that only takes its time, which shows what the pipeline
adds without the noise of two computations on one machine. The sweep's seconds run from the first batch that a device
begins to the end of the last scoring; what comes before (Ray, the prior) is told apart.
"""

import os
import tempfile
import time
from pathlib import Path
from typing import Any

import torch

from bench.registry import Effort, Ratio, stands_for
from bench.stand_in import SECONDS
from bench.sweeps import build_manifest, specification
from g2d2.methods import find_method
from g2d2.priors import load_prior
from operators import stack_operators
from pipelines.manifest import Manifest, build_row_operator, measurement, read_row
from pipelines.plan.planning import Plan, make_plan
from pipelines.plan.sweep_spec import SweepSpec
from pipelines.storage.sweep_folder import SweepFolder
from pipelines.sweep import run_sweep

_BATCH = 16
_BATCHES = {
    "bench.stand_in:FixedLatency": {"quick": 2, "normal": 8, "full": 16},
    "g2d2": {"quick": 2, "normal": 2, "full": 4},
}
"""Batches of each solver: full runs take over a minute, start not counted."""
_LATENCY = {"quick": 0.2, "normal": 5.0, "full": 5.0}


@stands_for(
    Ratio("a sweep's rate by a bare loop's, stand-in", "ratio", 0.95, where={"solver": "FixedLatency"}),
    Ratio("a sweep's rate by a bare loop's, g2d2", "ratio", 0.95, where={"solver": "g2d2"}),
)
def run(effort: Effort) -> list[dict[str, Any]]:
    """One row per solver."""
    os.environ[SECONDS] = str(_LATENCY[effort.level])
    rows = []
    for method, batches in _BATCHES.items():
        with tempfile.TemporaryDirectory(prefix="g2d2-bench-") as place:
            rows.append(_compare(method, Path(place), batches[effort.level], effort.level == "quick"))
    return rows


def _compare(method: str, folder: Path, batches: int, short: bool) -> dict[str, Any]:
    manifest = build_manifest(folder, batches * _BATCH)
    settings = {"steps": 2, "iterations": 2} if short else {}
    solver = {"method": method, "preset": "tuned", "settings": settings}
    spec = specification(folder, manifest, solver=solver)
    plan = make_plan(spec, SweepFolder(spec.output))
    bare = _bare_loop(spec, plan)
    started = time.time()
    result = run_sweep(spec)
    ended = time.time()
    if not result.counts.complete or result.counts.failed:
        raise RuntimeError(f"the bench's sweep is not whole: {result.counts}")
    began = _first_batch(result.folder)
    images = plan.items
    return {
        "solver": method.rpartition(":")[2],
        "images": images,
        "bare_seconds": bare,
        "sweep_seconds": ended - began,
        "ratio": bare / (ended - began),
        "start_seconds": began - started,
    }


def _bare_loop(spec: SweepSpec, plan: Plan) -> float:
    """Seconds of nothing but the solver, on the sweep's batches."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    assert spec.prior is not None
    prior, method = load_prior(spec.prior), find_method(spec.solver.method)
    settings = method.validated(plan.cells[0].settings)
    manifest = Manifest.open(spec.manifest)
    places = [(row["shard"], row["row"]) for batch in manifest.index() for row in batch.to_pylist()]
    seconds = 0.0
    for first in range(0, len(places), _BATCH):
        table = manifest.fetch(places[first : first + _BATCH])
        rows = [read_row(table, index) for index in range(len(table))]
        operator, y = stack_operators([build_row_operator(row) for row in rows]), [measurement(row) for row in rows]
        started = time.perf_counter()
        method.run(
            prior, operator, torch.stack(y), settings, prompts=[row["prompt"] for row in rows],
            seeds=[row["seed"] for row in rows],
        )  # fmt: skip
        seconds += time.perf_counter() - started
    torch.set_num_threads(threads)
    return seconds


def _first_batch(folder: SweepFolder) -> float:
    """When a device began its first shard: the time of its commit less what its batch took."""
    begins: list[float] = []
    for shard in folder.solved_shards():
        rows = folder.read_solved(shard, columns=["seconds"])
        took = sum(rows["seconds"].to_pylist())
        begins.append(os.stat(folder.store.path(folder.solved_name(shard))).st_mtime - took)
    return min(begins)
