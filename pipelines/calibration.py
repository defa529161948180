"""What a plan will cost, from a few short steps on this machine's device."""

import time
from collections.abc import Mapping
from dataclasses import dataclass

import torch

from g2d2.priors.base import Prior
from g2d2.settings import G2D2Settings
from g2d2.solvers import load_solver
from operators import stack_operators
from operators.validation import validate
from pipelines.cells import Cell
from pipelines.layout import SweepFolder
from pipelines.manifest import Manifest, build_row_operator, measurement, read_row
from pipelines.manifest.reading import Place
from pipelines.plan import Plan
from pipelines.spec import SweepSpec

_STEPS = 2
_ITERATIONS = (2, 6)
_ROWS = 8


@dataclass(frozen=True)
class Estimate:
    """Cost of the items that are left, on one device like the one measured."""

    device_seconds: float
    seconds_per_item: float
    peak_bytes: int
    device: str
    rows: int
    """Rows of the batch that was measured."""


def estimate(spec: SweepSpec, plan: Plan, items_left: int, solvable: Mapping[str, Place]) -> Estimate:
    """Time per step and per iteration from two short solves; every cell counts its own steps and iterations."""
    from g2d2.priors import load_prior  # with the model libraries, which counting does without

    device = "cuda" if torch.cuda.is_available() else "cpu"
    resources = spec.resources
    rows = min(_ROWS, resources.shard) if resources.batch == "auto" else resources.batch
    prior = load_prior(
        spec.prior,
        device=device,
        dtype=resources.dtype,
        channels_last=resources.channels_last,
        compile_networks=resources.compile,
        rows=rows,
        digest=plan.prior_digest,
    )
    (short, long), peak = _short_solves(spec, plan.cells[0], solvable[plan.cells[0].task], prior, rows)
    per_iteration = max(0.0, long - short) / (_STEPS * (_ITERATIONS[1] - _ITERATIONS[0]))
    per_step = max(0.0, short / _STEPS - _ITERATIONS[0] * per_iteration)
    costs = [
        (cell.settings["steps"] * (per_step + cell.settings["iterations"] * per_iteration)) / rows
        for cell in plan.cells
    ]
    mean = sum(costs) / len(costs)
    return Estimate(mean * items_left, mean, peak, device, rows)


def _short_solves(
    spec: SweepSpec, cell: Cell, place: Place, prior: Prior, rows: int
) -> tuple[tuple[float, float], int]:
    measured = [read_row(Manifest.open(spec.manifest).fetch([place]), 0)] * rows
    operator = stack_operators([build_row_operator(row) for row in measured]).to(prior.device)
    y = torch.stack([measurement(row) for row in measured]).to(prior.device)
    prompts = [row["prompt"] for row in measured]
    solve, seconds, peak = load_solver(spec.solver.method), [], 0
    for iterations in (_ITERATIONS[0], *_ITERATIONS):  # the first run warms up and is not counted
        started = time.perf_counter()
        result = solve(prior, operator, y, _shortened(cell, iterations), prompts=prompts, seeds=range(rows))
        seconds.append(time.perf_counter() - started)
        peak = max(peak, result.trace.peak_bytes)
    return (seconds[1], seconds[2]), peak


def _shortened(cell: Cell, iterations: int) -> G2D2Settings:
    return validate(G2D2Settings, cell.settings | {"steps": _STEPS, "iterations": iterations}, where="solver settings")


def items_left(folder: SweepFolder, plan: Plan) -> int:
    """Work items of the plan that are not solved."""
    solved = folder.solved_shards()
    return sum(shard.count for shard in plan.shards if shard.name not in solved)
