"""The cells of a race as plain rows for machines, and as the few lines that a terminal has room for."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from eval.cell_labels import cell_labels, shown_settings
from eval.record.numbers import shown
from pipelines.plan.cells import Cell
from pipelines.plan.race_record import HeatRecord, Runner
from pipelines.score.race_results import by_stay, mark

_NAMED = 5
"""Cells that lines name of those that are in, and of those that left last."""


def planned_labels(cells: Iterable[Cell]) -> dict[str, str]:
    """What cells are called, by id, where no scores are read."""
    parameters = {
        one.id: {"task": one.task, "arm": one.arm, "method": one.method, "prior": one.prior, **one.settings}
        for one in cells
    }
    return cell_labels(parameters, shown_settings(parameters))


def race_row(heat: HeatRecord, one: Runner, labels: Mapping[str, str]) -> dict[str, Any]:
    """A cell: how far it came, by whom it was beaten, by how much and on what evidence."""
    leaders = dict.fromkeys(defeat.leader for defeat in one.beaten.values())
    return {
        "race": heat.name,
        "cell": one.cell,
        "label": labels.get(one.cell, one.cell),
        "state": mark(heat, one),
        "leads": one.cell == heat.leader,
        "measurements": one.end,
        "left_in_round": one.left_after,
        "reason": one.reason,
        "beaten_by": " and ".join(labels.get(leader, leader) for leader in leaders) or None,
        "evidence": min((defeat.evidence for defeat in one.beaten.values()), default=None),
        **{f"{name}_behind": defeat.difference for name, defeat in one.beaten.items()},
    }


def race_state(heat: HeatRecord, labels: Mapping[str, str]) -> dict[str, Any]:
    """A race with all its cells: who leads, then whoever stayed longer."""
    facts: dict[str, Any] = heat.model_dump(include={"task", "arm", "rounds", "of_rounds", "seen", "pool", "over"})
    return facts | {"race": heat.name, "cells": [race_row(heat, one, labels) for one in by_stay(heat)]}


def race_lines(state: Mapping[str, Any]) -> Iterator[str]:
    """Who leads, who is in, and who left last; of many some are named and the others counted."""
    cells = state["cells"]
    for one in cells:
        if one["leads"]:
            yield f"{'won' if state['over'] else 'leads'}: {one['label']}"
    inside = [one["label"] for one in cells if one["left_in_round"] is None and not one["leads"]]
    if inside:
        more = f" and {len(inside) - _NAMED} more" if len(inside) > _NAMED else ""
        yield f"in: {'; '.join(inside[:_NAMED])}{more}"
    left = [one for one in cells if one["left_in_round"] is not None]
    yield from (f"{one['state']}: {one['label']}, {_why(one)}" for one in left[:_NAMED])
    if len(left) > _NAMED:
        yield f"and {len(left) - _NAMED} that left before"


def _why(one: Mapping[str, Any]) -> str:
    if one["beaten_by"] is None:
        return str(one["reason"])
    behind = {name.removesuffix("_behind"): value for name, value in one.items() if name.endswith("_behind")}
    by = " and ".join(f"{shown(value)} {name}" for name, value in behind.items())
    return f"behind {one['beaten_by']} by {by}, evidence {one['evidence']:.2g}"
