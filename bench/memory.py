"""Peak memory of one solve, measured in a process of its own.

The number is the highest resident memory during the solve minus the resident memory just before it, so it leaves out
the weights and Python but holds everything the solve allocates, scratch space of the kernels included. A warm-up on
the small problem has then loaded the libraries, and the allocator returns freed blocks to the system at once, so that
neither hides a peak. Linux alone can reset a process's peak; elsewhere memory is not measured.
"""

import argparse
import ctypes
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch

import g2d2  # noqa: F401  (its import makes torchvision importable, before diffusers needs it)
from bench.problems import PROBLEMS
from bench.sides import OURS, PUBLISHED, Side, build_side

_RESET = Path("/proc/self/clear_refs")


def peak_of(problem: str, side: str, batch: int, guidance: float, threads: int) -> dict[str, float] | None:
    """MiB above the weights at the peak, and of the weights alone; None where the system cannot tell."""
    return measured_by("bench.memory", problem, side, str(batch), str(guidance), str(threads))


def measured_by(module: str, *arguments: str) -> dict[str, float] | None:
    """The numbers that a module prints, run in a process of its own; None where the system cannot tell a peak."""
    if not _RESET.exists():
        return None
    environment = os.environ | {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}
    root = Path(__file__).resolve().parents[1]
    command = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"memory of {', '.join(arguments)}: {done.stderr.strip()[-500:]}")
    numbers: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return numbers


def peak_mib(call: Callable[[], object]) -> float:
    """MiB that a call holds at its peak, above what was resident before."""
    before = _resident()
    _RESET.write_text("5")
    call()
    return status_mib("VmHWM") - before


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("problem", choices=PROBLEMS)
    parser.add_argument("side", choices=(PUBLISHED, OURS))
    parser.add_argument("batch", type=int)
    parser.add_argument("guidance", type=float)
    parser.add_argument("threads", type=int)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    # Two iterations show the peak of a loop: from the second on, all that lives between iterations is there.
    shorter = replace(PROBLEMS[given.problem], steps=1, iterations=2)
    warm_up = PROBLEMS["tiny" if given.problem == "tiny" else "small"]
    build_side(given.side, replace(warm_up, steps=1, iterations=1))(given.batch, given.guidance)
    solve: Side = build_side(given.side, shorter)
    peak = peak_mib(lambda: solve(given.batch, given.guidance))
    print(json.dumps({"peak_mib": peak, "weights_mib": shorter.weight_bytes() / 2**20}))


def _resident() -> float:
    """MiB resident now, without what the allocator merely holds."""
    ctypes.CDLL(None).malloc_trim(0)
    return status_mib("VmRSS")


def status_mib(field: str) -> float:
    """A line of the process's own status, such as VmHWM, in MiB."""
    found = re.search(rf"^{field}:\s+(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)
    assert found is not None
    return int(found[1]) / 1024


if __name__ == "__main__":
    main()
