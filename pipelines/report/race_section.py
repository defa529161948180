"""The picture of a race in a sweep's report: how many cells are in, their means so far, who left when and why."""

from collections.abc import Iterator

from markupsafe import Markup

from eval.report import Section, Series, line_chart, paragraph, table
from pipelines.plan.race_course import draw_order
from pipelines.plan.race_record import HeatRecord
from pipelines.score.race_results import cells_over_images, race_table, running_means
from pipelines.score.stored_sweep import StoredSweep

_LINES = 8
"""Cells whose means so far are drawn: those that stayed longest."""


def race_sections(sweep: StoredSweep) -> list[Section]:
    """None where the sweep has no race that has begun."""
    if sweep.race is None:
        return []
    parts = [part for heat in sweep.race.heats for part in _heat(sweep, heat)]
    words = race_table(sweep.race, sweep.scores)
    parts.append(table(words.header, words.rows, words.caption))
    return [Section("The race", Markup("\n").join(parts))]


def _heat(sweep: StoredSweep, heat: HeatRecord) -> Iterator[Markup]:
    race, known = sweep.record.race, set(sweep.scores.cells())
    assert race is not None
    yield paragraph(f"{heat.sentence}. A cell that left has seen fewer measurements than the others.")
    ends, inside = cells_over_images(heat)
    cells = Series("cells still in", ends, inside)
    yield line_chart(f"{heat.name}: cells over measurements", "measurements seen", "cells still in", [cells])
    longest = sorted((one for one in heat.runners if one.cell in known), key=lambda one: -one.end)[:_LINES]
    digests = {digest for one in longest for digest in sweep.scores.values(one.cell, race.metric).digests.tolist()}
    assert sweep.spec.race is not None
    order = draw_order(digests, sweep.spec.race.seed)
    steps = [end for end in ends if end]
    lines = [
        Series(
            sweep.record.cell(one.cell).label,
            steps,
            running_means(sweep.scores.values(one.cell, race.metric), order, steps),
            arm=sweep.record.cell(one.cell).arm,
        )
        for one in longest
    ]
    unit = sweep.scores.info(race.metric).unit
    yield line_chart(
        f"{heat.name}: mean {race.metric} so far, of the {len(lines)} cells that stayed longest",
        "measurements seen", f"{race.metric} {unit}".strip(), lines,
    )  # fmt: skip
