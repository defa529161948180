"""A sweep on several Ray nodes under random faults: every id exactly once, values of a quiet run, seconds per fault.

Faults come evenly over the work: a worker is killed, or a node is killed and another joins, drawn at random. The solver
is the real one on the embedded prior, shortened, after a pause; so a picture that came out wrong would show.
"""

import os
import random
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from bench.ray_nodes import RayNodes
from bench.registry import Effort, Ratio, stands_for
from bench.stand_in import SECONDS
from bench.sweeps import build_manifest, specification
from pipelines.storage.sweep_folder import SweepFolder

_PAUSE = 1.5


@dataclass(frozen=True)
class Size:
    nodes: int
    pictures: int
    cells: int
    faults: int

    @property
    def shards(self) -> int:
        return self.pictures * self.cells // _SHARD


_SHARD = 4
_SIZES = {"quick": Size(2, 8, 4, 2), "normal": Size(4, 24, 8, 8), "full": Size(4, 40, 14, 24)}


@dataclass
class Run:
    """A sweep that was watched from start to end."""

    seconds: float
    folder: SweepFolder
    faults: list[str] = field(default_factory=list)

    def pictures(self) -> list[tuple[str, bytes]]:
        names = sorted(self.folder.solved_shards())
        rows = [row for name in names for row in self.folder.read_solved(name, ["item", "x"]).to_pylist()]
        return sorted((row["item"], row["x"]) for row in rows)


@stands_for(
    Ratio("what a fault costs", "seconds_per_fault", 10, "lower", "s", where={"run": "chaos"}),
    Ratio("pictures equal to a quiet run's", "values_equal", 1, where={"run": "chaos"}),
)
def run(effort: Effort) -> list[dict[str, Any]]:
    """One row for the quiet run, one for the disturbed."""
    size = _SIZES[effort.level]
    with (
        tempfile.TemporaryDirectory(prefix="g2d2-bench-") as place,
        RayNodes(cpus=2, **{SECONDS: str(_PAUSE)}) as nodes,
    ):
        manifest = build_manifest(Path(place), size.pictures)
        nodes.keep(size.nodes)
        quiet, chaos = (_watched(nodes, Path(place) / name, manifest, size, faults)
                        for name, faults in (("quiet", 0), ("chaos", size.faults)))  # fmt: skip
        expected, found = quiet.pictures(), chaos.pictures()
    same = {
        "ids_once": len({item for item, _ in found}) == len(found) == size.pictures * size.cells,
        "values_equal": found == expected,
    }
    rows = [_row("quiet", size, quiet, quiet, {}), _row("chaos", size, chaos, quiet, same)]
    if not all(same.values()):
        raise RuntimeError(f"the disturbed run differs from the quiet one: {rows}")
    return rows


def _row(name: str, size: Size, run: Run, quiet: Run, same: dict[str, bool]) -> dict[str, Any]:
    faults = len(run.faults)
    lost = (run.seconds - quiet.seconds) / faults if faults else None
    return {
        "run": name, "nodes": size.nodes, "shards": size.shards, "workers_killed": run.faults.count("worker"),
        "nodes_killed": run.faults.count("node"), "seconds": run.seconds, "ratio": run.seconds / quiet.seconds,
        "seconds_per_fault": lost, "ids_once": same.get("ids_once"), "values_equal": same.get("values_equal"),
    }  # fmt: skip


def _watched(nodes: RayNodes, folder: Path, manifest: str, size: Size, faults: int) -> Run:
    folder.mkdir()
    spec = specification(
        folder,
        manifest,
        solver={"method": "bench.stand_in:Paced", "settings": {"steps": 2, "iterations": 2}},
        grid={"cross": {"eta_kl": {"log": (1e-5, 1e-1), "count": size.cells}}},
        resources={"batch": _SHARD, "shard": _SHARD},
    )
    path = folder / "spec.yaml"
    path.write_text(yaml.safe_dump(spec.model_dump(mode="json")))
    started, result = time.perf_counter(), Run(0.0, SweepFolder(spec.output))
    process = nodes.start_sweep(path)
    # the last fault comes while there is still work for the device that it hits
    moments = [round(size.shards * (fault + 1) / (faults + 1) * 0.95) for fault in range(faults)]
    draw = random.Random(0)
    for moment in moments:
        while process.poll() is None and len(result.folder.solved_shards()) < moment:
            time.sleep(0.2)
        if process.poll() is None:
            result.faults.append(_fault(nodes, draw))
    _finish(process)
    result.seconds = time.perf_counter() - started
    return result


def _fault(nodes: RayNodes, draw: random.Random) -> str:
    workers = nodes.solver_processes()
    if workers and draw.random() < 0.5:
        os.kill(draw.choice(workers).pid, signal.SIGKILL)
        return "worker"
    nodes.kill(draw.choice(nodes.nodes))
    nodes.add()
    return "node"


def _finish(process: "subprocess.Popen[str]") -> None:
    _, said = process.communicate()
    if process.returncode != 0:
        raise RuntimeError(f"the sweep ended with {process.returncode}: {said[-2000:]}")
