"""The cells of a race as plain rows for machines, and as what a terminal has room for: lines, news, a bar's words."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from eval.cell_labels import cell_labels, shown_settings
from eval.record.numbers import shown
from pipelines.plan.cells import Cell
from pipelines.plan.race_record import HeatRecord, RaceRecord, Runner
from pipelines.score.race_results import by_stay, mark

_NAMED = 5
"""Cells that lines name of those that are in, and of those that left last."""
_NEW = 3
"""Cells that news names of those that left in a round."""


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
    yield from map(_departure, left[:_NAMED])
    if len(left) > _NAMED:
        yield f"and {len(left) - _NAMED} that left before"


def news(before: RaceRecord, now: RaceRecord, labels: Mapping[str, str]) -> Iterator[str]:
    """Of each race that somebody left or that is over now: how it stands, and who left and why."""
    for old, new in zip(before.heats, now.heats, strict=True):
        stayed = {one.cell for one in old.inside}
        left = [one for one in new.runners if one.left_after is not None and one.cell in stayed]
        if left or new.over != old.over:
            yield new.sentence
        yield from (f"  {_departure(race_row(new, one, labels))}" for one in left[:_NEW])
        if len(left) > _NEW:
            yield f"  and {len(left) - _NEW} more"


def bar_words(record: RaceRecord, labels: Mapping[str, str]) -> str:
    """`12/49 in, leads: star, eta_kl=0.0003`, of each race."""
    several = len(record.heats) > 1
    return "; ".join(
        f"{heat.name}: {_stand(heat, labels)}" if several else _stand(heat, labels) for heat in record.heats
    )


def _stand(heat: HeatRecord, labels: Mapping[str, str]) -> str:
    inside = f"{len(heat.inside)}/{len(heat.runners)} in"
    if heat.leader is None:
        return inside
    return f"{inside}, {'won' if heat.over else 'leads'}: {labels.get(heat.leader, heat.leader)}"


def _departure(one: Mapping[str, Any]) -> str:
    return f"{one['state']}: {one['label']}, {_why(one)}"


def _why(one: Mapping[str, Any]) -> str:
    if one["beaten_by"] is None:
        return str(one["reason"])
    behind = {name.removesuffix("_behind"): value for name, value in one.items() if name.endswith("_behind")}
    by = " and ".join(f"{shown(value)} {name}" for name, value in behind.items())
    return f"behind {one['beaten_by']} by {by}, evidence {one['evidence']:.2g}"
