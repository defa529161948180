"""What a plan will cost, from a few short trials on this machine's device."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.optimize import nnls

from g2d2.methods import Method, MethodSettings, find_method
from operators import find_signal, stack_operators
from pipelines.manifest import Manifest, build_row_operator, measurement, read_row
from pipelines.manifest.reading import Place
from pipelines.plan.cells import Cell
from pipelines.plan.item_seconds import ItemSeconds, Range
from pipelines.plan.planning import Plan
from pipelines.plan.race_items import largest_batch
from pipelines.plan.row_work import RowWork, task_prompts
from pipelines.plan.sweep_spec import Resources, SweepSpec
from pipelines.solve.provenance import processor

_ROWS = 8
_ROUNDS = 3
"""How often every trial runs: the rounds' spread is the range of what is estimated."""
_PATIENCE_SECONDS = 30.0
"""After which there is no third round."""

Restorer = tuple[str, str]
"""A prior and a method, by name."""


@dataclass(frozen=True)
class Estimate:
    """Cost of work items on one device like the one measured."""

    seconds: ItemSeconds
    peak_bytes: int
    device: str
    rows: int
    """Rows of the batch that was measured."""


def estimate(spec: SweepSpec, plan: Plan, solvable: Mapping[str, Place]) -> Estimate:
    """Seconds per unit of a method's work, from short trials; every cell counts its own units."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    resources = spec.resources
    rows = min(_ROWS, resources.shard) if resources.batch == "auto" else resources.batch
    races = plan.races(spec)
    rows = min(rows, largest_batch(races, len(spec.seeds))) if races else rows
    manifest, seconds, peak = Manifest.open(spec.manifest), dict[str, Range](), 0
    work = RowWork.of(plan.cells, task_prompts(manifest, solvable))
    groups: dict[Restorer, list[Cell]] = {}
    for cell in plan.cells:
        groups.setdefault((cell.prior, cell.method), []).append(cell)
    for (prior, name), cells in sorted(groups.items(), key=lambda group: group[0]):
        method = find_method(name)
        trial = _Trial(manifest, method, _loaded(prior, plan.priors, resources, device, rows), device, rows, work)
        units, bytes_ = trial.unit_seconds(cells[0], solvable[cells[0].task])
        peak = max(peak, bytes_)
        for cell in cells:
            rounds = np.array(units) @ np.array(work.units(method, cell, _settings(method, cell))) / rows
            seconds[cell.id] = (float(rounds.min()), float(np.median(rounds)), float(rounds.max()))
    name = torch.cuda.get_device_name() if device == "cuda" else processor()
    return Estimate(ItemSeconds(seconds, f"short trials in batches of {rows} on this {name}"), peak, device, rows)


def _loaded(name: str, digests: Mapping[str, str], resources: Resources, device: str, rows: int) -> Any:
    from g2d2.priors import load_prior  # with the model libraries, which counting does without

    if not name:
        return None
    return load_prior(
        name,
        device=device,
        dtype=resources.dtype,
        channels_last=resources.channels_last,
        compile_networks=resources.compile,
        rows=rows,
        digest=digests[name],
    )


@dataclass(frozen=True)
class _Trial:
    """Short runs of a method on one measurement, repeated to a batch."""

    manifest: Manifest
    method: Method[Any, Any]
    prior: Any
    device: str
    rows: int
    work: RowWork

    def unit_seconds(self, cell: Cell, place: Place) -> tuple[list[list[float]], int]:
        """Seconds of a batch per unit of work, by round, and the peak memory."""
        trials = self.method.trials(_settings(self.method, cell))
        work = np.array([self.work.units(self.method, cell, settings) for settings in trials])
        _, peak = self._run(trials[0], place)  # warms up and is not counted
        rounds, started = list[list[float]](), time.perf_counter()
        while len(rounds) < _ROUNDS and (len(rounds) < 2 or time.perf_counter() - started < _PATIENCE_SECONDS):
            runs = [self._run(settings, place) for settings in trials]
            peak = max(peak, *(bytes_ for _, bytes_ in runs))
            units, _ = nnls(work, np.array([taken for taken, _ in runs]))
            rounds.append(units.tolist())
        return rounds, peak

    def _run(self, settings: MethodSettings, place: Place) -> tuple[float, int]:
        measured = [read_row(self.manifest.fetch([place]), 0)] * self.rows
        operator = stack_operators([build_row_operator(row) for row in measured]).to(self.device)
        y = find_signal(measured[0]["signal"]).stack([measurement(row) for row in measured]).to(self.device)
        prompts, sigma = [row["prompt"] for row in measured], [row["sigma"] for row in measured]
        started = time.perf_counter()
        solution = self.method.run(
            self.prior, operator, y, settings, prompts=prompts, seeds=range(self.rows), sigma=sigma
        )
        return time.perf_counter() - started, solution.peak_bytes


def _settings(method: Method[Any, Any], cell: Cell) -> Any:
    return method.validated(cell.settings)
