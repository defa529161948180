"""`g2d2 plan`: what a sweep would run, and what it would cost."""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from operators import InputError
from operators.plurals import counted
from pipelines.manifest import Manifest
from pipelines.manifest.reading import Place
from pipelines.plan.calibration import Estimate, estimate
from pipelines.plan.cells import Cell, varied
from pipelines.plan.cluster_cost import bench_seconds, other_sizes, paper_seconds, parse_price, read_bench
from pipelines.plan.item_seconds import ItemSeconds, bill
from pipelines.plan.planning import make_plan
from pipelines.plan.proposals import next_batch
from pipelines.plan.race_cost import typical_cost
from pipelines.plan.race_course import Heat
from pipelines.plan.race_items import largest_batch
from pipelines.plan.readiness import check_solving
from pipelines.plan.row_work import task_prompts
from pipelines.plan.search_course import SearchCourse, search_course
from pipelines.plan.shared_sources import shared_sources
from pipelines.plan.sweep_spec import SweepSpec, load_spec
from pipelines.storage.sweep_folder import SweepFolder

EXAMPLE = "g2d2 plan examples/tour.yaml"


HERE, PAPER = "here", "paper"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("spec", type=Path, help="the sweep's specification, a YAML file")
    parser.add_argument("--no-calibration", action="store_true", help="count only; load no prior and time nothing")
    parser.add_argument("--devices", type=int, metavar="N", help="estimate for so many devices")
    parser.add_argument("--price", metavar="2.1/h", help="of a device's hour: estimate the money too")
    parser.add_argument(
        "--bench",
        metavar="FILE",
        help="by what devices are estimated: a GPU's figures, as `python -m bench.gpu` writes them; `here`, short "
        "trials on this machine's device; or `paper`, its figures (default: here where there is a GPU, else paper)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    """Writes the work items, runs none of them; refuses what could not be solved."""
    bench, devices, price = _asked(args)
    spec = load_spec(args.spec)
    folder = SweepFolder(spec.output)
    search = search_course(spec) if spec.grid.search else None
    if search is None:
        plan = make_plan(spec, folder)
    else:  # of its first batch; what the others are follows from scores
        spec = search.batch_spec(0, next_batch(folder, search, 0).points)
        plan = make_plan(spec, folder, block=search.block(0))
    ready = check_solving(spec, plan.cells)
    solved = folder.solved_shards()
    left, shards = plan.rows.per_cell(solved), sum(shard.name not in solved for shard in plan.shards)
    trials = bench == HERE or (bench is None and not args.no_calibration)
    cost = estimate(spec, plan, ready.solvable) if trials else None
    names, races = varied(plan.cells), plan.races(spec)
    raced = largest_batch(races, len(spec.seeds)) if races else None
    seconds = _away(spec, plan.cells, bench, ready.solvable, raced) if cost is None else cost.seconds
    shared = [] if spec.race is None else shared_sources(spec)
    warnings, done = [*ready.warnings, *shared], plan.items - sum(left.values())
    facts: dict[str, Any] = {
        "plan": folder.store.url(folder.plan_name(plan.id)),
        "arms": list(dict.fromkeys(cell.arm for cell in plan.cells)),
        "cells": len(plan.cells),
        "measurements": plan.measurements,
        "seeds": len(spec.seeds),
        "items": plan.items,
        "done": done,
        "shards": len(plan.shards),
        "varied": names,
        "warnings": warnings,
    }
    if search is not None:
        facts["search"] = search_facts(search)
    if races:
        facts["race"] = race_facts(races, len(spec.seeds))
    if cost is not None:
        facts |= calibrated_facts(cost, left)
    if seconds is not None and bench is not None:
        facts["cluster"] = {
            "devices": devices, "busy": min(devices, shards), "source": seconds.source,
            **bill(seconds.total(left), devices, shards, price),
        }  # fmt: skip
        warnings += _not_covered(plan.cells, seconds, left, bench)
    if seconds is not None and search is not None:
        each = seconds.total({cell.id: 1 for cell in plan.cells})
        fewest, most = search.cost()
        bounds = fewest * each[0] / len(plan.cells), most * each[2] / len(plan.cells)
        facts["search"] |= bill(bounds, devices, shards, price)
    if seconds is not None and races:
        ends = [seconds.race(heat, len(spec.seeds)) for heat in races]
        whole = seconds.total(left)
        low, high = min(sum(low for low, _ in ends), whole[0]), min(sum(high for _, high in ends), whole[2])
        facts["race"] |= bill((low, high), devices, shards, price)
    if args.json:
        print(json.dumps(facts))
        return 0
    _print(facts, cell_words(plan.cells))
    return 0


def _asked(args: argparse.Namespace) -> tuple[str | None, int, float | None]:
    """Whose figures, how many devices and their price; no figures where nothing was asked but this machine's."""
    if args.devices is not None and args.devices < 1:
        raise InputError(f"devices: {args.devices} must be at least 1.")
    price = None if args.price is None else parse_price(args.price)
    bench = args.bench
    if bench is None and (args.devices is not None or price is not None):
        bench = HERE if torch.cuda.is_available() and not args.no_calibration else PAPER
    if bench == HERE and args.no_calibration:
        raise InputError("bench: `here` needs short trials, which --no-calibration forbids; leave one of them out.")
    if bench not in (None, HERE, PAPER):
        read_bench(Path(bench))  # refused before anything is planned
    return bench, args.devices or 1, price


def _away(
    spec: SweepSpec, cells: Sequence[Cell], bench: str | None, solvable: Mapping[str, Place], raced: int | None
) -> ItemSeconds | None:
    """What the asked figures say of devices that are not here."""
    if bench is None:
        return None
    if bench == PAPER:
        return paper_seconds(cells)
    prompts = task_prompts(Manifest.open(spec.manifest), solvable)
    return bench_seconds(cells, Path(bench), spec.resources, prompts, raced)


def _not_covered(cells: Sequence[Cell], seconds: ItemSeconds, left: Mapping[str, int], bench: str) -> list[str]:
    """What the price leaves out, and of what other size its figures are."""
    warnings = [
        f"the price leaves out {counted(count, 'work item')} of {method}, of which the figures say nothing"
        for method, count in seconds.uncovered(cells, left).items()
    ]
    if bench == HERE:
        return warnings
    return warnings + other_sizes(cells, None if bench == PAPER else Path(bench))


def calibrated_facts(cost: Estimate, left: Mapping[str, int]) -> dict[str, Any]:
    """What this machine's device would take for the items that are left."""
    low, about, high = cost.seconds.total(left)
    items = sum(left.values())
    return {
        "seconds_per_item": about / items if items else 0.0, "device_hours_left": about / 3600,
        "device_hours_range": [low / 3600, high / 3600], "peak_bytes": cost.peak_bytes, "measured_on": cost.device,
        "measured_rows": cost.rows,
    }  # fmt: skip


def _print(facts: Mapping[str, Any], cells: str) -> None:
    arms = f" of {counted(len(facts['arms']), 'arm')}: {', '.join(facts['arms'])}" if len(facts["arms"]) > 1 else ""
    varying = ", ".join([*(["arm"] if arms else []), *facts["varied"]]) or "nothing varies"
    print(f"{cells} ({varying}), {counted(facts['measurements'], 'measurement')}{arms}")
    items, shards = counted(facts["items"], "work item"), counted(facts["shards"], "shard")
    print(f"{items} in {shards}, {facts['done']} of them done")
    if "measured_on" in facts:
        low, high = (_duration(3600 * hours) for hours in facts["device_hours_range"])
        print(
            f"about {facts['seconds_per_item']:.2g} s an item in batches of {facts['measured_rows']} on this "
            f"{facts['measured_on']}: {_duration(3600 * facts['device_hours_left'])} ({low} to {high}) of device time "
            f"left, {facts['peak_bytes'] / 2**30:.1f} GiB at the peak"
        )
    if "cluster" in facts:
        _print_cluster(facts["cluster"], "race" in facts)
    if "race" in facts:
        _print_race(facts["race"], facts["items"], facts.get("cluster"))
    if "search" in facts:
        _print_search(facts["search"], "cluster" in facts)
    print(f"work items: {facts['plan']}")
    for warning in facts["warnings"]:
        print(f"warning: {warning}", file=sys.stderr)


def cell_words(cells: Sequence[Cell]) -> str:
    """`12 settings x 2 tasks = 24 cells`; the cells alone where tasks differ in how many they have, or there is one."""
    per_task = Counter(cell.task for cell in cells)
    words = counted(len(cells), "cell")
    if len(per_task) < 2 or len(set(per_task.values())) > 1:
        return words
    return f"{counted(len(cells) // len(per_task), 'setting')} x {len(per_task)} tasks = {words}"


def race_facts(races: Sequence[Heat], seeds: int) -> dict[str, Any]:
    """Rounds of every race, the fewest and most work items of all, and how many it typically is."""
    costs, typical = [heat.cost(seeds) for heat in races], [typical_cost(heat, seeds) for heat in races]
    return {
        "heats": [
            {
                "race": heat.name, "cells": len(heat.cells), "rounds": heat.rounds, "first_round": heat.rules.ends[0],
                "measurements": heat.pool, "set_aside": len(heat.digests) - heat.pool, "safe": heat.rules.stay is None,
            }
            for heat in races
        ],
        "items": [sum(low for low, _ in costs), sum(high for _, high in costs)],
        "typical_items": [sum(low for low, _ in typical), sum(high for _, high in typical)],
    }  # fmt: skip


def search_facts(course: SearchCourse) -> dict[str, Any]:
    """Of all batches; everything else that is told is of the first."""
    return {
        "trials": sum(course.sizes), "batches": len(course.sizes), "aside": course.aside,
        "measurements": [course.raced(number) for number in range(len(course.sizes))], "items": list(course.cost()),
    }  # fmt: skip


def _print_search(facts: Mapping[str, Any], cluster: bool) -> None:
    each = " or ".join(map(str, sorted(set(facts["measurements"]))))
    low, high = facts["items"]
    trials, races = counted(facts["trials"], "trial"), counted(facts["batches"], "race")
    print(f"search: the first of {races} one after the other, each on {each} measurements of its own; {trials} in all")
    print(
        f"search: it solves {low} to {high} work items{_bill_words(facts, cluster)}; {facts['aside']} measurements "
        "are set aside for the winner"
    )


def _print_race(facts: Mapping[str, Any], items: int, cluster: Mapping[str, Any] | None) -> None:
    for heat in facts["heats"]:
        print(
            f"race: {counted(heat['rounds'], 'round')} of {heat['first_round']} of "
            f"{counted(heat['measurements'], 'measurement')}, {counted(heat['cells'], 'cell')} ({heat['race']}); "
            f"{heat['set_aside']} are set aside for the winner"
        )
    low, high = facts["items"]
    amount = str(low) if low == high else f"{low} to {high}"
    print(f"race: it solves {amount} of {counted(items, 'work item')}{_bill_words(facts, cluster is not None)}")
    if low != high:
        print(
            "race: typically {} to {}, by made-up grids of this size whose cells differ much and little".format(
                *facts["typical_items"]
            )
        )


def _bill_words(facts: Mapping[str, Any], cluster: bool) -> str:
    """Least and most of time and money, where they are known."""
    words = ""
    if "hours" in facts:
        least, most = (_duration(3600 * hours) for hours in facts["hours"])
        words = f", {least} to {most}" if cluster else f", {least} to {most} of device time"
    if "money" in facts:
        words += ", money {:.2f} to {:.2f}".format(*facts["money"])
    return words


def _print_cluster(facts: Mapping[str, Any], raced: bool) -> None:
    low, about, high = (_duration(3600 * hours) for hours in facts["hours"])
    money = ", money {1:.2f} ({0:.2f} to {2:.2f})".format(*facts["money"]) if "money" in facts else ""
    whole = ", solved whole" if raced else ""
    devices, busy = facts["devices"], facts["busy"]
    idle = f"; {busy} of {devices} devices have work" if busy < devices else ""
    print(f"on {counted(devices, 'device')}{whole}: about {about} ({low} to {high}){money}{idle}")
    print(f"by {facts['source']}")


def _duration(seconds: float) -> str:
    hours, rest = divmod(round(seconds), 3600)
    return f"{hours} h {rest // 60} min" if hours else f"{rest // 60} min {rest % 60} s"
