"""How idle devices are in a race, and what they solve too early: nodes with one counted GPU, a solver that only waits.

`idle` is the share of the devices' time in which they did not solve, from when all had committed something to the end
of the last round; `too_early` is the share of solved shards whose cell left before they counted. Halving is idle where
nobody is certain to stay until a round's last shard is scored.
"""

import os
import tempfile
from collections.abc import Iterable
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
_PICTURES = {"quick": 12, "normal": 40, "full": 80}
_ROUND = 4
_RACES: dict[str, dict[str, Any]] = {"safe": {"round": _ROUND}, "halving 0.4": {"budget": 0.4}}


@stands_for(
    Ratio("share of time that devices idle", "idle", 0.05, "lower", where={"race": "safe"}),
    Ratio("share of shards solved too early", "too_early", 0.1, "lower", over="highest"),
)
def run(effort: Effort) -> list[dict[str, Any]]:
    """A row for each kind of race, of cells of which half are clearly worse."""
    with (
        tempfile.TemporaryDirectory(prefix="g2d2-bench-") as place,
        RayNodes(cpus=2, **{SECONDS: str(_LATENCY[effort.level])}) as nodes,
    ):
        nodes.keep(_NODES[effort.level])
        manifest = build_manifest(Path(place), _PICTURES[effort.level])
        return [{"race": name} | _raced(Path(place), name, manifest, nodes, effort) for name in _RACES]


def _raced(folder: Path, name: str, manifest: str, nodes: RayNodes, effort: Effort) -> dict[str, Any]:
    cells = _CELLS[effort.level]
    worse = [0.3 + 0.5 * index / cells for index in range(cells // 2)]
    spec = specification(
        folder,
        manifest,
        output=str(folder / name),
        solver={"method": "bench.stand_in:Graded"},
        grid={"cross": {"eta_kl": [0.001 * index for index in range(cells - cells // 2)] + worse}},
        race=_RACES[name] | {"confirm": 4},
        metrics=["psnr"],
        resources={"batch": _ROUND, "shard": _ROUND},
    )
    path = folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump(spec.model_dump(mode="json")))
    process = nodes.start_sweep(path)
    _, said = process.communicate()
    if process.returncode != 0:
        raise RuntimeError(f"the race ended with {process.returncode}: {said[-2000:]}")
    return _measured(SweepFolder(spec.output), _LATENCY[effort.level], cells)


def _measured(folder: SweepFolder, latency: float, cells: int) -> dict[str, Any]:
    due, whole, solved = read_plan(folder), read_whole_plan(folder), folder.solved_shards()
    confirming = {shard.name for shard in whole.shards[-cells:]}  # what is set aside comes last, a shard for each cell
    commits: dict[str, list[float]] = {}
    for shard in solved - confirming:
        device = folder.read_solved(shard, columns=["device"])["device"].to_pylist()[0]
        commits.setdefault(device, []).append(os.stat(folder.store.path(folder.solved_name(shard))).st_mtime)
    times = [time for own in commits.values() for time in own]
    begin, end = max(min(own) for own in commits.values()), max(times)
    at_work = seconds_at_work(times, latency, begin, end)
    return {
        "cells": cells, "devices": len(commits), "shards": len(solved), "seconds": end - begin,
        "cost": due.items / whole.items, "idle": 1 - at_work / ((end - begin) * len(commits)),
        "too_early": 1 - len({one.name for one in due.shards} & solved) / len(solved),
    }  # fmt: skip


def seconds_at_work(commits: Iterable[float], latency: float, begin: float, end: float) -> float:
    """What solving took between two times: of a shard that was begun before, the rest of it."""
    return sum(max(0.0, min(time, end) - max(time - latency, begin)) for time in commits)
