"""`g2d2 plan`: what a sweep would run, and what it would cost."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from operators.plurals import counted
from pipelines.plan.calibration import estimate
from pipelines.plan.cells import varied
from pipelines.plan.planning import make_plan
from pipelines.plan.readiness import check_solving
from pipelines.plan.sweep_spec import load_spec
from pipelines.storage.sweep_folder import SweepFolder

EXAMPLE = "g2d2 plan examples/tour.yaml"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("spec", type=Path, help="the sweep's specification, a YAML file")
    parser.add_argument("--no-calibration", action="store_true", help="count only; load no prior and time nothing")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    """Writes the work items, runs none of them; refuses what could not be solved."""
    spec = load_spec(args.spec)
    folder = SweepFolder(spec.output)
    plan = make_plan(spec, folder)
    ready = check_solving(spec, plan.cells)
    left = plan.left(folder.solved_shards())
    cost = None if args.no_calibration else estimate(spec, plan, left, ready.solvable)
    names = varied(plan.cells)
    facts: dict[str, Any] = {
        "plan": folder.store.url(folder.plan_name(plan.id)),
        "arms": list(dict.fromkeys(cell.arm for cell in plan.cells)),
        "cells": len(plan.cells),
        "measurements": plan.measurements,
        "seeds": len(spec.seeds),
        "items": plan.items,
        "done": plan.items - left,
        "shards": len(plan.shards),
        "varied": names,
        "warnings": ready.warnings,
    }
    if cost is not None:
        facts |= {
            "seconds_per_item": cost.seconds_per_item, "device_hours_left": cost.device_seconds / 3600,
            "peak_bytes": cost.peak_bytes, "measured_on": cost.device, "measured_rows": cost.rows,
        }  # fmt: skip
    if args.json:
        print(json.dumps(facts))
        return 0
    arms = f" of {counted(len(facts['arms']), 'arm')}: {', '.join(facts['arms'])}" if len(facts["arms"]) > 1 else ""
    print(
        f"{counted(len(plan.cells), 'cell')} ({', '.join(names) or 'nothing varies'}), "
        f"{counted(plan.measurements, 'measurement')}{arms}"
    )
    print(
        f"{counted(plan.items, 'work item')} in {counted(len(plan.shards), 'shard')}, {plan.items - left} of them done"
    )
    if cost is not None:
        print(
            f"about {cost.seconds_per_item:.2g} s an item in batches of {cost.rows} on this {cost.device}: "
            f"{_duration(cost.device_seconds)} of device time left, {cost.peak_bytes / 2**30:.1f} GiB at the peak"
        )
    print(f"work items: {facts['plan']}")
    for warning in ready.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    return 0


def _duration(seconds: float) -> str:
    hours, rest = divmod(round(seconds), 3600)
    return f"{hours} h {rest // 60} min" if hours else f"{rest // 60} min {rest % 60} s"
