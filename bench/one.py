"""`python -m bench.one NAME LEVEL THREADS FOLDER`: one bench in a process of its own.

What it leaves behind, or how it dies, touches no other bench: threads, memory, a Ray that was started.
"""

import argparse
import traceback
from collections.abc import Sequence
from pathlib import Path

import psutil
import torch

import g2d2  # noqa: F401  (its import makes torchvision importable, before diffusers needs it)
from bench.registry import SUITE, Bench, Effort, Ratio, Rows, find_bench
from bench.result import Clock, Measured, Result
from bench.text_table import text_table
from pipelines.console.interrupts import INTERRUPTED, sigterm_interrupts


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.one", description=__doc__)
    parser.add_argument("name", choices=SUITE)
    parser.add_argument("level", choices=("quick", "normal", "full"))
    parser.add_argument("threads", type=int)
    parser.add_argument("folder", type=Path)
    given = parser.parse_args(arguments)
    with sigterm_interrupts() as final_code:
        try:
            effort, started = Effort(given.level, given.threads), psutil.Process().create_time()
            result = measure(given.name, find_bench(given.name), effort, given.folder, started)
        except KeyboardInterrupt:
            return final_code(INTERRUPTED)
    return 0 if result.error is None else 1


def measure(name: str, bench: Bench, effort: Effort, folder: Path, started: float | None = None) -> Result:
    """Run a bench, print its rows and keep the result, or the reason why there is none."""
    before = torch.get_num_threads()
    torch.set_num_threads(effort.threads)
    try:
        clock = Clock(name, effort, started)
        try:
            rows = bench(effort)
            result = clock.result(rows=rows, ratios=[_measured(ratio, rows) for ratio in bench.ratios])
        except Exception as error:
            traceback.print_exc()
            result = clock.result(error=f"{type(error).__name__}: {' '.join(str(error).split())}")
        result.write(folder)
    finally:
        torch.set_num_threads(before)
    if result.rows:
        print(text_table(result.rows), flush=True)
    return result


def _measured(ratio: Ratio, rows: Rows) -> Measured:
    value = ratio.read(rows)
    return Measured(
        name=ratio.name,
        value=value,
        goal=ratio.goal,
        better=ratio.better,
        unit=ratio.unit,
        met=None if value is None else ratio.met(value),
    )


if __name__ == "__main__":
    raise SystemExit(main())
