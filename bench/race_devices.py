"""How idle devices are in a race, and what they solve too early: nodes with one counted GPU, a solver that only waits.

`idle` is the share of the devices' time in which they did not solve, from when all had committed something to the end
of the last round; `too_early` is the share of solved shards whose cell left before they counted.
"""

import os
import tempfile
from pathlib import Path
from typing import Any

import yaml

from bench.ray_nodes import RayNodes
from bench.registry import Effort, Ratio, stands_for
from bench.stand_in import SECONDS
from bench.sweeps import build_manifest, specification
from pipelines.plan.planning import read_whole_plan
from pipelines.plan.race_record import read_plan
from pipelines.storage.sweep_folder import SweepFolder

_NODES = {"quick": 2, "normal": 4, "full": 4}
_LATENCY = {"quick": 0.3, "normal": 3.0, "full": 10.0}
_CELLS = {"quick": 3, "normal": 12, "full": 12}
_PICTURES = {"quick": 8, "normal": 40, "full": 80}
_ROUND = 4


@stands_for(
    Ratio("share of time that devices idle", "idle", 0.05, "lower"),
    Ratio("share of shards solved too early", "too_early", 0.1, "lower"),
)
def run(effort: Effort) -> list[dict[str, Any]]:
    """One row: a race of cells of which half are clearly worse."""
    latency, count = _LATENCY[effort.level], _NODES[effort.level]
    with (
        tempfile.TemporaryDirectory(prefix="g2d2-bench-") as place,
        RayNodes(cpus=2, **{SECONDS: str(latency)}) as nodes,
    ):
        folder = Path(place)
        nodes.keep(count)
        cells = _CELLS[effort.level]
        worse = [0.3 + 0.5 * index / cells for index in range(cells // 2)]
        spec = specification(
            folder,
            build_manifest(folder, _PICTURES[effort.level]),
            solver={"method": "bench.stand_in:Graded"},
            grid={"cross": {"eta_kl": [0.001 * index for index in range(cells - cells // 2)] + worse}},
            race={"round": _ROUND, "confirm": 4},
            metrics=["psnr"],
            resources={"batch": _ROUND, "shard": _ROUND},
        )
        path = folder / "spec.yaml"
        path.write_text(yaml.safe_dump(spec.model_dump(mode="json")))
        process = nodes.start_sweep(path)
        _, said = process.communicate()
        if process.returncode != 0:
            raise RuntimeError(f"the race ended with {process.returncode}: {said[-2000:]}")
        return [_measured(SweepFolder(spec.output), latency, cells)]


def _measured(folder: SweepFolder, latency: float, cells: int) -> dict[str, Any]:
    due, whole, solved = read_plan(folder), read_whole_plan(folder), folder.solved_shards()
    confirming = {shard.name for shard in whole.shards[-cells:]}  # what is set aside comes last, a shard for each cell
    commits: dict[str, list[float]] = {}
    for shard in solved - confirming:
        device = folder.read_solved(shard, columns=["device"])["device"].to_pylist()[0]
        commits.setdefault(device, []).append(os.stat(folder.store.path(folder.solved_name(shard))).st_mtime)
    times = [time for own in commits.values() for time in own]
    begin, end = max(min(own) for own in commits.values()), max(times)
    at_work = latency * sum(begin < time <= end for time in times)
    return {
        "cells": cells, "devices": len(commits), "shards": len(solved), "seconds": end - begin,
        "cost": due.items / whole.items, "idle": 1 - at_work / ((end - begin) * len(commits)),
        "too_early": 1 - len({one.name for one in due.shards} & solved) / len(solved),
    }  # fmt: skip
