"""`python -m bench`: print tables of speed and memory, write bench/results/<name>.json."""

import argparse
import json
import os
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

import g2d2  # noqa: F401  (its import makes torchvision importable, before diffusers needs it)
from bench import (  # noqa: F401  (an import registers the bench)
    chaos,
    continuous,
    coverage,
    driver,
    gate,
    groups,
    limits,
    metrics,
    operators,
    pipeline,
    profile,
    race_devices,
    racing,
    randomness,
    scaling,
    selection,
    solver,
    tracking,
)
from bench.registry import BENCHES, Effort, register

RESULTS = Path(__file__).parent / "results"


@register("operators")
def _operators(effort: Effort) -> list[dict[str, Any]]:
    return operators.run()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--only", choices=sorted(BENCHES), action="append", help="run this bench (repeatable)")
    level = parser.add_mutually_exclusive_group()
    level.add_argument("--quick", dest="level", action="store_const", const="quick", help="seconds: does it run?")
    level.add_argument("--full", dest="level", action="store_const", const="full", help="more rounds, larger batches")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="torch threads (default: all cores)")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the JSON files")
    given = parser.parse_args(arguments)
    before = torch.get_num_threads()
    torch.set_num_threads(given.threads)
    try:
        effort = Effort(given.level or "normal", given.threads)
        given.out.mkdir(parents=True, exist_ok=True)
        for name in given.only or sorted(BENCHES):
            rows = BENCHES[name](effort)
            print(f"\n{name}\n{table(rows)}", flush=True)
            result = {"bench": name, "level": effort.level, "machine": machine(), "rows": rows}
            (given.out / f"{name}.json").write_text(json.dumps(result, indent=2) + "\n")
    finally:
        torch.set_num_threads(before)
    return 0


def machine() -> dict[str, Any]:
    """What a number depends on besides the code."""
    return {
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
        "processor": platform.machine(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
    }


def table(rows: list[dict[str, Any]]) -> str:
    """Columns as wide as they need to be; numbers to three digits."""
    cells = [list(rows[0]), *([_cell(value) for value in row.values()] for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(cells[0]))]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in cells)


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:#.3g}".rstrip(".") if isinstance(value, float) else str(value)


if __name__ == "__main__":
    raise SystemExit(main())
