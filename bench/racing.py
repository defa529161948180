"""Races replayed on scores that are all there: what each would have cost, and what it would have lost.

With `G2D2_RACED_SWEEP`, a folder of a sweep that is solved whole, on its scores; else on made-up grids of 49 cells,
smooth (0 to 6 dB below the best) and flat (0 to 0.6), paired noise of one dB. `half bound` is a safe race with half
the usual bound, `fixed stakes` one whose stakes do not adapt and which bets on the leader alone. `wilcoxon` is Optuna's
pruner, where Optuna is installed: cells one after the other, each stopped when a signed-rank test against the best so
far says so.
"""

import contextlib
import importlib
import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from bench.registry import Effort, Ratio, stands_for
from eval.racing import Margin, RaceRules, default_margin, halving_rounds, standing
from eval.racing.bets import Numbers
from eval.racing.made_up_grids import FLAT, SMOOTH, made_up_grid
from eval.record import SweepRecord

_ORDERS = {"quick": 2, "normal": 20, "full": 200}
_CELLS = 49
_ROUND = 8
_BUDGETS = (0.1, 0.2, 0.4)
_PRUNED = 0.05
_STAKES = np.geomspace(0.005, 0.9, 24)

Race = Callable[[Numbers], tuple[int, int]]
"""From merits (cells, measurements) in an order to the winner and the items it took."""


@stands_for(
    Ratio(
        "safe: the best lost by more than delta",
        "lost_by_more_than_delta",
        0.05,
        "lower",
        where={"race": "safe"},
        over="highest",
    ),
    Ratio("safe: share of the grid's cost", "cost", 0.4, "lower", where={"race": "safe"}, over="mean"),
)
def run(effort: Effort) -> list[dict[str, Any]]:
    """Share of the whole grid's cost, how often the best cell was lost, and by how much the winner is worse than it."""
    rows = []
    for name, merits, margin in _grids():
        truth = merits.mean(1)
        for race, replay in _races(*merits.shape, margin).items():
            costs, regrets = [], []
            for seed in range(_ORDERS[effort.level]):
                random = np.random.default_rng(seed)
                cells, order = random.permutation(len(merits)), random.permutation(merits.shape[1])
                winner, items = replay(merits[cells][:, order])
                costs.append(items / merits.size)
                regrets.append(truth.max() - truth[cells[winner]])
            rows.append(
                {
                    "grid": name, "cells": len(merits), "measurements": merits.shape[1], "race": race,
                    "cost": float(np.mean(costs)), "best_lost": float(np.mean(np.array(regrets) > 0)),
                    "lost_by_more_than_delta": float(np.mean(np.array(regrets) > margin.delta)),
                    "regret": float(np.mean(regrets)), "worst_regret": float(np.max(regrets)),
                }
            )  # fmt: skip
    return rows


def _races(cells: int, measurements: int, margin: Margin) -> dict[str, Race]:
    ends = (*range(_ROUND, measurements, _ROUND), measurements)
    half = Margin(margin.delta, margin.bound / 2)
    races: dict[str, Race] = {
        "safe": partial(_raced, RaceRules({"merit": margin}, ends)),
        "half bound": partial(_raced, RaceRules({"merit": half}, ends)),
        "fixed stakes": partial(_fixed, margin, ends),
    }
    for budget in _BUDGETS:
        ends, stay = halving_rounds(cells, measurements, budget)
        races[f"halving {budget:g}"] = partial(_raced, RaceRules({"merit": margin}, ends, stay=stay))
    with contextlib.suppress(ImportError):
        races["wilcoxon"] = partial(_pruned, importlib.import_module("optuna"))
    return races


def _raced(rules: RaceRules, merits: Numbers) -> tuple[int, int]:
    names = [str(index) for index in range(len(merits))]
    over = standing(names, {"merit": merits}, np.ones(merits.shape, dtype=bool), rules)
    assert over.leader is not None
    return int(over.leader), sum(over.seen(name, rules.ends) for name in names)


def _fixed(margin: Margin, ends: tuple[int, ...], merits: Numbers) -> tuple[int, int]:
    """A cell leaves when the mean of 24 wealths, bet on the leader with fixed stakes, reaches its rivals over alpha."""
    inside, items, end = np.arange(len(merits)), 0, 0
    for end, step in zip(ends, np.diff(ends, prepend=0).tolist(), strict=True):
        items += step * len(inside)
        lead = merits[inside[merits[inside, :end].mean(1).argmax()], :end] - merits[inside, :end] + margin.delta
        parts = np.clip(lead / margin.bound, -1, 1)[..., None]
        wealth = np.exp(np.log1p(_STAKES * parts).sum(1)).mean(-1)
        inside = inside[(wealth < (len(merits) - 1) / 0.05) | (lead == margin.delta).all(1)]
        if len(inside) == 1:
            break
    return int(inside[merits[inside, :end].mean(1).argmax()]), items


def _pruned(optuna: Any, merits: Numbers) -> tuple[int, int]:
    """Cell after cell; the best of those that saw everything wins."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    pruner = optuna.pruners.WilcoxonPruner(p_threshold=_PRUNED, n_startup_steps=_ROUND)
    study = optuna.create_study(direction="maximize", pruner=pruner)
    items, means = 0, np.full(len(merits), -np.inf)
    for cell in range(len(merits)):
        trial = study.ask()
        for place, value in enumerate(merits[cell].tolist()):
            trial.report(value, place)
            items += 1
            if trial.should_prune():
                break
        else:
            means[cell] = merits[cell].mean()
        study.tell(trial, float(merits[cell, : place + 1].mean()))
    return int(means.argmax()), items


def _grids() -> Iterator[tuple[str, Numbers, Margin]]:
    """Merits, larger where better, without failed rows."""
    folder = os.environ.get("G2D2_RACED_SWEEP")
    if folder is None:
        yield from _made_up()
        return
    from pipelines.score.stored_sweep import StoredSweep
    from pipelines.storage.sweep_folder import SweepFolder

    record = StoredSweep.read(SweepFolder(folder)).record
    for task in record.tasks:
        for metric in record.judged:
            margin = default_margin(metric.name)
            if margin is not None:
                yield f"{task} {metric.name}", _merits(record, task, metric.name, metric.direction == "higher"), margin


def _merits(record: SweepRecord, task: str, metric: str, higher: bool) -> Numbers:
    columns = [record.values(cell, metric) for cell in record.of_task(task)]
    by_row = [dict(zip(one.measurements.tolist(), one.values.tolist(), strict=True)) for one in columns]
    shared = sorted(set(by_row[0]).intersection(*by_row[1:]))
    values = np.array([[row[name] for name in shared] for row in by_row])
    values = values[:, np.isfinite(values).all(0)]
    return values if higher else -values


def _made_up() -> Iterator[tuple[str, Numbers, Margin]]:
    random = np.random.default_rng(5)
    for measurements in (128, 1000):
        for name, depth in (("smooth", SMOOTH), ("flat", FLAT)):
            yield name, made_up_grid(random, _CELLS, measurements, depth), Margin(0.05, 4.0)
