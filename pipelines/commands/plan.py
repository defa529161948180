"""`g2d2 plan`: what a sweep would run, and what it would cost."""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from operators import InputError
from operators.plurals import counted
from pipelines.plan.calibration import Estimate, estimate
from pipelines.plan.cells import Cell, varied
from pipelines.plan.cluster_cost import cluster_cost, parse_price
from pipelines.plan.planning import make_plan
from pipelines.plan.race_course import Heat
from pipelines.plan.readiness import check_solving
from pipelines.plan.sweep_spec import load_spec
from pipelines.storage.sweep_folder import SweepFolder

EXAMPLE = "g2d2 plan examples/tour.yaml"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("spec", type=Path, help="the sweep's specification, a YAML file")
    parser.add_argument("--no-calibration", action="store_true", help="count only; load no prior and time nothing")
    parser.add_argument(
        "--bench", type=Path, metavar="FILE", help="figures of a GPU, as `python -m bench.gpu` writes them"
    )
    parser.add_argument("--devices", type=int, metavar="N", help="estimate for so many GPUs that are not here")
    parser.add_argument("--price", metavar="2.1/h", help="of a device's hour: estimate the money too")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    """Writes the work items, runs none of them; refuses what could not be solved."""
    away = args.bench is not None or args.devices is not None or args.price is not None
    devices, price = args.devices or 1, None if args.price is None else parse_price(args.price)
    if devices < 1:
        raise InputError(f"devices: {devices} must be at least 1.")
    spec = load_spec(args.spec)
    folder = SweepFolder(spec.output)
    plan = make_plan(spec, folder)
    ready = check_solving(spec, plan.cells)
    left = plan.left(folder.solved_shards())
    cluster = cluster_cost(plan.cells, left, args.bench).facts(devices, price) if away else None
    cost = None if args.no_calibration or away else estimate(spec, plan, left, ready.solvable)
    names, races = varied(plan.cells), plan.races(spec)
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
    if cluster is not None:
        facts["cluster"] = cluster
    if races:
        facts["race"] = race_facts(races, len(spec.seeds))
    if args.json:
        print(json.dumps(facts))
        return 0
    arms = f" of {counted(len(facts['arms']), 'arm')}: {', '.join(facts['arms'])}" if len(facts["arms"]) > 1 else ""
    print(
        f"{cell_words(plan.cells)} ({', '.join(names) or 'nothing varies'}), "
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
    if cluster is not None:
        _print_cluster(cluster)
    if races:
        _print_race(facts["race"], plan.items, cost)
    print(f"work items: {facts['plan']}")
    for warning in ready.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    return 0


def cell_words(cells: Sequence[Cell]) -> str:
    """`12 settings x 2 tasks = 24 cells`; the cells alone where tasks differ in how many they have, or there is one."""
    per_task = Counter(cell.task for cell in cells)
    words = counted(len(cells), "cell")
    if len(per_task) < 2 or len(set(per_task.values())) > 1:
        return words
    return f"{counted(len(cells) // len(per_task), 'setting')} x {len(per_task)} tasks = {words}"


def race_facts(races: Sequence[Heat], seeds: int) -> dict[str, Any]:
    """Rounds of every race, and the fewest and most work items of all."""
    costs = [heat.cost(seeds) for heat in races]
    return {
        "heats": [
            {
                "race": heat.name, "cells": len(heat.cells), "rounds": heat.rounds, "first_round": heat.rules.ends[0],
                "measurements": heat.pool, "set_aside": len(heat.digests) - heat.pool, "safe": heat.rules.stay is None,
            }
            for heat in races
        ],
        "items": [sum(low for low, _ in costs), sum(high for _, high in costs)],
    }  # fmt: skip


def _print_race(facts: dict[str, Any], items: int, cost: Estimate | None) -> None:
    for heat in facts["heats"]:
        print(
            f"race: {counted(heat['rounds'], 'round')} of {heat['first_round']} of "
            f"{counted(heat['measurements'], 'measurement')}, {counted(heat['cells'], 'cell')} ({heat['race']}); "
            f"{heat['set_aside']} are set aside for the winner"
        )
    low, high = facts["items"]
    amount = str(low) if low == high else f"{low} to {high}"
    hours = "" if cost is None else f", {_duration(low * cost.seconds_per_item)}"
    hours += "" if cost is None or low == high else f" to {_duration(high * cost.seconds_per_item)} of device time"
    print(f"race: it solves {amount} of {counted(items, 'work item')}{hours}")


def _print_cluster(facts: dict[str, Any]) -> None:
    low, about, high = (_duration(3600 * hours) for hours in facts["hours"])
    money = ""
    if "money" in facts:
        least, middle, most = facts["money"]
        money = f", money {middle:.2f} ({least:.2f} to {most:.2f})"
    print(f"on {counted(facts['devices'], 'device')}: about {about} ({low} to {high}){money}")
    print(f"by {facts['source']}")


def _duration(seconds: float) -> str:
    hours, rest = divmod(round(seconds), 3600)
    return f"{hours} h {rest // 60} min" if hours else f"{rest // 60} min {rest % 60} s"
