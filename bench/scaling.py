"""Shards per second of a sweep on 1, 2, 4 and 8 local Ray nodes, with a solver that only takes its time.

Every node has one counted GPU, so that a device is free to wait while another works: what is measured is the pipeline,
not this machine's cores. `steady` looks at the time in which all devices work: from the last device's first commit to
the first device's last. `committing` runs from the first commit to the last, `whole` from the command's start to its
end. Efficiency compares with as many times the steady rate of one node.
"""

import math
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import yaml

from bench.ray_nodes import RayNodes
from bench.registry import Effort, Ratio, stands_for
from bench.stand_in import SECONDS
from bench.sweeps import build_manifest, specification
from pipelines.storage.sweep_folder import SweepFolder

_NODES = {"quick": (1, 2), "normal": (1, 4), "full": (1, 2, 4, 8)}
_LATENCY = {"quick": 0.5, "normal": 5.0, "full": 5.0}
_SHARDS_PER_NODE = {"quick": 4, "normal": 6, "full": 6}
_MOST_PICTURES = 40


@stands_for(Ratio("efficiency with most nodes", "efficiency", 0.9, over="last"))
def run(effort: Effort) -> list[dict[str, Any]]:
    """One row per number of nodes."""
    rows: list[dict[str, Any]] = []
    with (
        tempfile.TemporaryDirectory(prefix="g2d2-bench-") as place,
        RayNodes(cpus=2, **{SECONDS: str(_LATENCY[effort.level])}) as nodes,
    ):
        manifest = build_manifest(Path(place), _MOST_PICTURES)
        for count in _NODES[effort.level]:
            nodes.keep(count)
            # loading the prior in many processes takes turns on few cores: more nodes get more work to outlast it
            shards = _SHARDS_PER_NODE[effort.level] + count
            rows.append(_measured(nodes, Path(place) / str(count), manifest, count, shards))
            rows[-1]["efficiency"] = rows[-1]["steady"] / (count * rows[0]["steady"])
    return rows


def _measured(nodes: RayNodes, folder: Path, manifest: str, count: int, shards: int) -> dict[str, Any]:
    folder.mkdir()
    spec = specification(
        folder,
        manifest,
        solver={"method": "bench.stand_in:FixedLatency"},
        grid={"cross": {"eta_kl": {"log": (1e-5, 1e-1), "count": count}} if count > 1 else {}},
        select={"limit": shards},
        resources={"batch": 1, "shard": 1},
    )
    path = folder / "spec.yaml"
    path.write_text(yaml.safe_dump(spec.model_dump(mode="json")))
    started = time.perf_counter()
    process = nodes.start_sweep(path)
    _, said = process.communicate()
    whole = time.perf_counter() - started
    if process.returncode != 0:
        raise RuntimeError(f"{count} nodes: the sweep ended with {process.returncode}: {said[-2000:]}")
    commits = _commits(SweepFolder(spec.output))
    times = sorted(time for device in commits.values() for time in device)
    begin, end = max(min(device) for device in commits.values()), min(max(device) for device in commits.values())
    return {
        "nodes": count, "devices": len(commits), "shards": len(times), "steady_seconds": end - begin,
        "steady": sum(_rate([time for time in device if begin <= time <= end]) for device in commits.values()),
        "committing": _rate(times), "whole": len(times) / whole,
    }  # fmt: skip


def _rate(times: list[float]) -> float:
    """Commits per second from the first to the last."""
    return (len(times) - 1) / (max(times) - min(times)) if len(times) > 1 else math.nan


def _commits(folder: SweepFolder) -> dict[str, list[float]]:
    """When each device committed its shards."""
    commits: dict[str, list[float]] = {}
    for shard in folder.solved_shards():
        (device,) = folder.read_solved(shard, columns=["device"])["device"].to_pylist()
        commits.setdefault(device, []).append(os.stat(folder.store.path(folder.solved_name(shard))).st_mtime)
    return commits
