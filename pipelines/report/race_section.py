"""The picture of a race in a sweep's report: cells over measurements, who left when and why, and their means so far."""

from collections.abc import Iterator

from markupsafe import Markup

from eval.record.headline import confirmed
from eval.report import Section, Series, line_chart, paragraph, table
from pipelines.plan.race_course import draw_order
from pipelines.plan.race_record import HeatRecord, Runner
from pipelines.score.race_results import (
    by_stay,
    cells_over_measurements,
    cost_sentence,
    departures,
    running_means,
)
from pipelines.score.stored_sweep import StoredSweep

_LINES = 8
"""Cells whose means so far are drawn."""


def race_sections(sweep: StoredSweep) -> list[Section]:
    """None where the sweep has no race that has begun."""
    if sweep.race is None:
        return []
    cost = cost_sentence(sweep.expected, sweep.summary["items"], sweep.early)
    parts = [
        *map(paragraph, confirmed(sweep.record)),
        paragraph(f"So far {cost}." if any(not heat.over for heat in sweep.race.heats) else f"{cost}."),
        *(part for heat in sweep.race.heats for part in _heat(sweep, heat)),
    ]
    return [Section("The race", Markup("\n").join(parts), opens=True)]


def _heat(sweep: StoredSweep, heat: HeatRecord) -> Iterator[Markup]:
    yield paragraph(f"{heat.sentence}. A cell that left has seen fewer measurements than the others.")
    steps = Series("cells still in", *cells_over_measurements(heat))
    yield line_chart(f"{heat.name}: cells over measurements", "measurements seen", "cells still in", [steps])
    words = departures([heat], sweep.record)
    rows = [
        [label, state, _bar(one, heat), *rest]
        for one, (label, state, *rest) in zip(by_stay(heat), words.rows, strict=True)
    ]
    yield table([*words.header[:2], "", *words.header[2:]], rows, words.caption)
    yield _means(sweep, heat)


def _bar(runner: Runner, heat: HeatRecord) -> Markup:
    """How far it came."""
    return Markup('<progress max="{}" value="{}"></progress>').format(heat.pool, runner.end)


def _means(sweep: StoredSweep, heat: HeatRecord) -> Markup:
    """Means so far of the leader and of those after it that stayed longest."""
    race, known = sweep.record.race, set(sweep.scores.cells())
    assert race is not None
    assert sweep.spec.race is not None
    drawn = [one for one in by_stay(heat) if one.cell in known][:_LINES]
    columns = {one.cell: sweep.scores.values(one.cell, race.metric) for one in drawn}
    order = draw_order(
        (digest for column in columns.values() for digest in column.digests.tolist()), sweep.spec.race.seed
    )
    steps = sorted({one.end for one in heat.runners if one.end} | ({heat.seen} - {0}))
    lines = [
        Series(cell.label, steps, running_means(columns[cell.id], order, steps), arm=cell.arm)
        for cell in (sweep.record.cell(one.cell) for one in drawn)
    ]
    unit = sweep.scores.info(race.metric).unit
    shown = "every cell" if len(drawn) == len(heat.runners) else f"the leader and {len(drawn) - 1} that stayed longest"
    return line_chart(
        f"{heat.name}: mean {race.metric} so far of {shown}, {len(heat.inside)} of {len(heat.runners)} are still in",
        "measurements seen", f"{race.metric} {unit}".strip(), lines,
    )  # fmt: skip
