"""Memory and time of the process that drives a sweep, as work items grow, with a solver that returns at once.

Every size runs in a process of its own; the peak is the highest resident memory of the driver alone.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.memory import status_mib
from bench.registry import Effort, register
from bench.sweeps import build_manifest, specification
from pipelines.plan.planning import make_plan
from pipelines.storage.sweep_folder import SweepFolder
from pipelines.sweep import run_sweep

_PICTURES = 100
_CELLS = {"quick": (1, 3), "normal": (10, 100, 1000), "full": (10, 100, 1000)}
_PLANNED = {
    "quick": ((16, 100),),
    "normal": ((16, 100), (16, 10_000)),
    "full": ((16, 100), (16, 10_000), (500, 10_000)),
}
"""Pictures and cells."""


@register("driver")
def run(effort: Effort) -> list[dict[str, Any]]:
    """Sweeps of growing size, then plans alone."""
    sweeps = [_measured("sweep", _PICTURES, cells) for cells in _CELLS[effort.level]]
    plans = [_measured("plan", pictures, cells) for pictures, cells in _PLANNED[effort.level]]
    return [row | {"peak_ratio": row["peak_mib"] / part[0]["peak_mib"]} for part in (sweeps, plans) for row in part]


def _measured(what: str, pictures: int, cells: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "bench.driver", what, str(pictures), str(cells)]
    done = subprocess.run(command, cwd=Path(__file__).resolve().parents[1], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{what} of {cells} cells: {done.stderr.strip()[-500:]}")
    row: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("sweep", "plan"))
    parser.add_argument("pictures", type=int)
    parser.add_argument("cells", type=int)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="g2d2-bench-") as place:
        folder = Path(place)
        spec = specification(
            folder,
            build_manifest(folder, given.pictures),
            solver={"method": "bench.stand_in:Instant"},
            grid={"cross": {"eta_kl": {"log": (1e-5, 1e-1), "count": given.cells}} if given.cells > 1 else {}},
            resources={"devices": 1, "cpus_per_device": 1, "batch": 256, "shard": 256},
        )
        started, used = time.perf_counter(), time.process_time()
        plan = make_plan(spec, SweepFolder(spec.output))
        planned, used = time.perf_counter() - started, time.process_time() - used
        if given.what == "sweep" and not run_sweep(spec).counts.complete:
            raise SystemExit("the sweep is not complete")
        row = {
            "what": given.what, "cells": given.cells, "items": plan.items, "plan_seconds": planned,
            "plan_cpu_seconds": used, "seconds": time.perf_counter() - started, "peak_mib": status_mib("VmHWM"),
        }  # fmt: skip
        print(json.dumps(row))


if __name__ == "__main__":
    main()
