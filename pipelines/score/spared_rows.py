"""Rows of a raced sweep's plan that its race did not ask for, for whoever holds it against another sweep."""

import pyarrow as pa

from eval.gate import Spared
from pipelines.plan.planning import read_whole_plan, stored_spec
from pipelines.plan.race_course import due_rows
from pipelines.plan.race_record import read_race, start_record
from pipelines.score.race_results import mark
from pipelines.storage.sweep_folder import SweepFolder


def spared_rows(folder: SweepFolder) -> Spared:
    """Nothing where the sweep is no race."""
    summary = folder.read_summary()
    if summary["specification"].get("race") is None:
        return Spared()
    plan = read_whole_plan(folder)
    races, table = plan.races(stored_spec(folder, summary)), plan.rows.table
    record = read_race(folder, plan.id) or start_record(races)
    left_out = table.filter(pa.array(~due_rows(table, races, record.due())))
    rows: dict[str, set[tuple[str, int]]] = {}
    columns = (left_out[name].to_pylist() for name in ("cell", "measurement", "seed"))
    for cell, measurement, seed in zip(*columns, strict=True):
        rows.setdefault(cell, set()).add((measurement, seed))
    gone = {one.cell: mark(heat, one) for heat in record.heats for one in heat.runners if one.left_after is not None}
    return Spared(rows, gone)
