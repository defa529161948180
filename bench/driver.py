"""Memory and time of the process that drives a sweep, as work items grow: solving at once, planning, and the end alone.

Every size runs in a process of its own; the peak is the highest resident memory of the driver alone. The end is what
`g2d2 sweep` does when all is scored: one table of all shards, then means, intervals, ranks and contrasts of all cells.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.made_up import read_spec, write_scores
from bench.memory import status_mib
from bench.registry import Effort, Ratio, stands_for
from bench.sweeps import build_manifest, specification
from pipelines.console.result_tables import cell_lines, contrast_lines
from pipelines.plan.planning import make_plan
from pipelines.storage.sweep_folder import SweepFolder
from pipelines.sweep import collect, run_sweep

_PICTURES = 100
_CELLS = {"quick": (1, 3), "normal": (10, 500), "full": (10, 100, 1000)}
_PLANNED = {
    "quick": ((16, 100),),
    "normal": ((16, 100), (16, 10_000)),
    "full": ((16, 100), (16, 10_000), (500, 10_000)),
}
"""Pictures and cells."""
_TO_A_MILLION = ((500, 2), (500, 20), (500, 200), (500, 2000))
_ENDED = {"quick": ((10, 4),), "normal": _TO_A_MILLION, "full": _TO_A_MILLION}
"""Likewise, of as many pictures each: a bootstrap draws these, and its draws are no cost of an item."""


@stands_for(
    Ratio("peak at the end of many items over few", "peak_ratio", 1.15, "lower", where={"what": "end"}, over="last")
)
def run(effort: Effort) -> list[dict[str, Any]]:
    """Sweeps of growing size, then plans and ends alone."""
    sweeps = [_measured("sweep", _PICTURES, cells) for cells in _CELLS[effort.level]]
    plans = [_measured("plan", pictures, cells) for pictures, cells in _PLANNED[effort.level]]
    ends = [_ended(pictures, cells) for pictures, cells in _ENDED[effort.level]]
    parts = (sweeps, plans, ends)
    return [row | _growth(row, part[0]) for part in parts for row in part]


def _growth(row: dict[str, Any], least: dict[str, Any]) -> dict[str, float | None]:
    """How the peak grows from the smallest of its kind."""
    more = row["items"] - least["items"]
    return {
        "peak_ratio": row["peak_mib"] / least["peak_mib"],
        "bytes_an_item": (row["peak_mib"] - least["peak_mib"]) * 2**20 / more if more else None,
    }


def _ended(pictures: int, cells: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="g2d2-bench-") as place:
        _measured("write", pictures, cells, place)
        return _measured("end", pictures, cells, place)


def _measured(what: str, pictures: int, cells: int, folder: str = "") -> dict[str, Any]:
    command = [sys.executable, "-m", "bench.driver", what, str(pictures), str(cells), "--folder", folder]
    done = subprocess.run(command, cwd=Path(__file__).resolve().parents[1], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{what} of {cells} cells: {done.stderr.strip()[-500:]}")
    row: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("sweep", "plan", "write", "end"))
    parser.add_argument("pictures", type=int)
    parser.add_argument("cells", type=int)
    parser.add_argument("--folder", default="", help="where `write` leaves what `end` reads")
    parser.add_argument("--shard", type=int, default=256, help="items of a shard of `sweep` and `plan`")
    given = parser.parse_args()
    started = time.perf_counter()
    if given.what == "write":
        numbers: dict[str, Any] = {"items": write_scores(Path(given.folder), given.pictures, given.cells).items}
    elif given.what == "end":
        numbers = _end(Path(given.folder))
    else:
        numbers = _sweep(given.pictures, given.cells, given.shard, planned_only=given.what == "plan")
    seconds = time.perf_counter() - started
    print(
        json.dumps(
            {"what": given.what, "cells": given.cells, "seconds": seconds, "peak_mib": status_mib("VmHWM")} | numbers
        )
    )


def _sweep(pictures: int, cells: int, shard: int, planned_only: bool) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="g2d2-bench-") as place:
        folder = Path(place)
        spec = specification(
            folder,
            build_manifest(folder, pictures),
            solver={"method": "bench.stand_in:Instant"},
            grid={"cross": {"eta_kl": {"log": (1e-5, 1e-1), "count": cells}}} if cells > 1 else {},
            resources={"devices": 1, "cpus_per_device": 1, "batch": shard, "shard": shard},
        )
        started, used = time.perf_counter(), time.process_time()
        plan = make_plan(spec, SweepFolder(spec.output))
        planned, used = time.perf_counter() - started, time.process_time() - used
        if not planned_only:
            result = run_sweep(spec)
            if not result.counts.complete:
                raise SystemExit("the sweep is not complete")
            cell_lines(result.stored(spec).record)
        seconds = time.perf_counter() - started
    return {"items": plan.items, "plan_seconds": planned, "plan_cpu_seconds": used, "seconds": seconds}


def _end(folder: Path) -> dict[str, Any]:
    spec = read_spec(folder)
    output = SweepFolder(spec.output).remembering()
    result = collect(output, make_plan(spec, output), output.read_summary())
    record = result.stored(spec).record
    if not result.counts.complete or not cell_lines(record) or not contrast_lines(record):
        raise SystemExit("the sweep is not complete")
    return {"items": result.counts.committed}


if __name__ == "__main__":
    main()
