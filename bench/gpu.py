"""`python -m bench.gpu`: what one GPU makes of G2D2, in one JSON file.

Run once by whoever has a GPU; `g2d2 plan --bench gpu.json --devices 8 --price 2.1/h` then says what a sweep costs on
many. Weights are random, which changes no cost. Short solves give the seconds of a pass of the prior, of which guidance
needs two a step, and of a call of the decoder, and from these follow the paper's 100 steps of 30 iterations. Every row
is measured in a process of its own and written at once: a way that fails is written down with its reason, and what was
measured outlives an interruption.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from bench.gpu_row import PAPER_SECONDS, PROTOCOL, SHAPES, WAYS
from operators.pictures import write_bytes
from pipelines.console.interrupts import INTERRUPTED

PAPER = {"seconds_per_image": PAPER_SECONDS, "peak_gib": 4.7, "device": "A6000 or RTX 3090", "batch": 1}
"""As the paper prints it."""

Run = Callable[[Sequence[str]], dict[str, Any]]


def in_own_process(words: Sequence[str]) -> dict[str, Any]:
    """What `bench.gpu_row` answers, or an error that says how it ended."""
    command = [sys.executable, "-m", "bench.gpu_row", *words]
    done = subprocess.run(command, cwd=Path(__file__).resolve().parents[1], capture_output=True, text=True)
    if done.returncode != 0:
        last = next(iter(done.stderr.strip().splitlines()[-1:]), "it says nothing")
        return {"error": f"its process ended with {done.returncode}: {last[:300]}"}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main(arguments: Sequence[str] | None = None, run: Run = in_own_process) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.gpu", description=__doc__)
    parser.add_argument("--shape", choices=SHAPES, default="ithq")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--batches", nargs="+", type=int, default=[1, 2, 4, 8, 16, 32, 64])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("gpu.json"))
    given = parser.parse_args(arguments)
    problem = SHAPES[given.shape]
    result: dict[str, Any] = {
        "bench": "gpu",
        "shape": problem.name,
        "x_shape": list(problem.task.build().x_shape),
        "device": given.device,
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "protocol": {"steps": PROTOCOL.steps, "iterations": PROTOCOL.iterations, "guidance": PROTOCOL.guidance},
        "paper": PAPER,
        "correctness": None,
        "rows": [],
    }
    try:
        facts = run(["facts", given.device])
        result |= {"correctness": facts} if "error" in facts else facts
        _keep(result, given.out, result["correctness"])
        for way in given.ways:
            for batch in sorted(given.batches):
                row = {"way": way, "batch": batch} | run(
                    [given.shape, way, given.device, str(batch), str(given.rounds)]
                )
                result["rows"].append(row)
                _keep(result, given.out, row)
                if row["error"] is not None:
                    break  # a larger batch needs more of everything
    except KeyboardInterrupt:
        print(f"interrupted: {given.out} has what was measured", file=sys.stderr)
        return INTERRUPTED
    return 0


def _keep(result: dict[str, Any], path: Path, news: Any) -> None:
    write_bytes((json.dumps(result, indent=1) + "\n").encode(), path)
    print(json.dumps(news), flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
