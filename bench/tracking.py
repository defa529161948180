"""Seconds per cell that logging to MLflow takes, on sqlite: the first time, and again when nothing has changed."""

import tempfile
import time
from pathlib import Path
from typing import Any

from bench.registry import Effort, Ratio, stands_for
from bench.sweeps import build_manifest, specification
from pipelines.sweep import run_sweep
from pipelines.track import track

_CELLS = {"quick": 2, "normal": 100, "full": 400}
_PICTURES = 4


@stands_for(
    Ratio("a cell logged", "seconds_per_cell", 0.1, "lower", unit="s", where={"pass": "first"}),
    Ratio("a cell that is logged already", "seconds_per_cell", 0.01, "lower", unit="s", where={"pass": "again"}),
)
def run(effort: Effort) -> list[dict[str, Any]]:
    """One row per pass over the same sweep."""
    cells, rows = _CELLS[effort.level], []
    with tempfile.TemporaryDirectory(prefix="g2d2-bench-") as place:
        folder = Path(place)
        spec = specification(
            folder,
            build_manifest(folder, _PICTURES),
            solver={"method": "bench.stand_in:Instant"},
            grid={"cross": {"eta_kl": {"log": (1e-5, 1e-1), "count": cells}}},
            metrics=["psnr", "ssim"],
            tracking={"uri": f"sqlite:///{folder}/mlflow.db"},
            resources={"devices": 1, "cpus_per_device": 1, "batch": 64, "shard": 64},
        )
        result = run_sweep(spec)
        for name in ("first", "again"):
            started = time.perf_counter()
            tracked = track(result.stored(spec))
            seconds = time.perf_counter() - started
            rows.append(
                {"pass": name, "cells": cells, "logged": tracked.cells_logged, "seconds_per_cell": seconds / cells}
            )
    return rows
