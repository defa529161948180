"""`python -m bench.resting`: how many decoder calls rows save that rest once they fit the noise (`discrepancy`)."""

import argparse
from collections.abc import Sequence
from typing import Any

import torch

import g2d2  # noqa: F401  (its import makes torchvision importable, before diffusers needs it)
from bench.photographs import Photographs
from bench.text_table import text_table


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.resting", description=__doc__)
    parser.add_argument("--task", default="sr4-32")
    parser.add_argument("--preset", default="best")
    parser.add_argument("--discrepancy", type=float, default=1.0)
    parser.add_argument("--limit", type=int, default=8, metavar="N", help="photographs, in one batch (default: 8)")
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args(arguments)
    torch.set_num_threads(given.threads)
    photographs = Photographs.first(given.limit, given.task)
    print(text_table([solved(photographs, given.preset, level) for level in (0.0, given.discrepancy)]))
    return 0


def solved(photographs: Photographs, preset: str, discrepancy: float) -> dict[str, Any]:
    """Calls and seconds of a photograph, and the mean score."""
    solution = photographs.solved(preset, {"discrepancy": discrepancy})
    count = len(photographs.truth)
    calls = [solution.costs(row)["decoder_calls"] for row in range(count)]
    return {
        "discrepancy": discrepancy, "n": count, "calls": sum(calls) / count, "fewest": min(calls), "most": max(calls),
        "seconds": solution.seconds / count, "psnr": float(photographs.scores("psnr", solution).mean()),
    }  # fmt: skip


if __name__ == "__main__":
    raise SystemExit(main())
