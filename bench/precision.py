"""`python -m bench.precision`: what bfloat16 networks cost in quality, on held-out photographs.

Decoder and transformer run in bfloat16, logits and the method's own arithmetic in float32; the same photographs,
measurements and random numbers on both sides, so that differences are paired.
"""

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

import g2d2  # noqa: F401  (its import makes torchvision importable, before diffusers needs it)
from bench.photographs import Photographs
from bench.text_table import text_table
from eval.statistics import bootstrap_interval

TASKS = ("gaussian-deblur-32", "sr4-32")
METRICS = ("psnr", "lpips_vgg")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.precision", description=__doc__)
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--metrics", nargs="+", default=list(METRICS))
    parser.add_argument("--preset", default="fast")
    parser.add_argument("--limit", type=int, default=16, metavar="N", help="photographs (default: 16)")
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args(arguments)
    torch.set_num_threads(given.threads)
    rows: list[dict[str, Any]] = []
    for task in given.tasks:
        rows += compared(Photographs.first(given.limit, task), given.preset, given.metrics)
    print(text_table(rows))
    return 0


def compared(photographs: Photographs, preset: str, metrics: Sequence[str]) -> list[dict[str, Any]]:
    """Means in both precisions, and the paired difference with its 95 % interval; one row a metric."""
    solved = {dtype: photographs.solved(preset, {}, dtype) for dtype in ("float32", "bfloat16")}
    rows = []
    for metric in metrics:
        plain, low = (photographs.scores(metric, solved[dtype]).double().numpy() for dtype in ("float32", "bfloat16"))
        gap = bootstrap_interval(low - plain, np.arange(len(plain)))
        rows.append(
            {
                "task": photographs.task, "metric": metric, "n": len(plain), "float32": plain.mean(),
                "bfloat16": low.mean(), "difference": gap.mean, "low": gap.low, "high": gap.high,
            }
        )  # fmt: skip
    return rows


if __name__ == "__main__":
    raise SystemExit(main())
