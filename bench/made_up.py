"""Committed scores that nobody computed: what a sweep of any size ends with, without its solving."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from bench.sweeps import build_manifest, specification
from pipelines.plan.cells import Cell
from pipelines.plan.planning import Plan, make_plan
from pipelines.plan.sweep_spec import SweepSpec
from pipelines.score.scoring import shard_schema
from pipelines.score.scorings import Scoring
from pipelines.storage.sweep_folder import SweepFolder
from pipelines.sweep import sweep_summary

_SPEC = "specification.json"
_BESIDE = {
    "peak_bytes": 2.0**28, "prior_calls": 25, "decoder_calls": 500, "device": "cpu", "batch_rows": 256,
    "networks": "eager", "torch": "2.13.0", "threads": 1, "processor": "a processor",
}  # fmt: skip


def write_scores(place: Path, pictures: int, cells: int, shard: int = 256) -> Plan:
    """The plan of a sweep of star and Markov over so many cells, all of whose shards are scored."""
    spec = specification(
        place,
        build_manifest(place, pictures),
        grid={"cross": {"process": ["star", "markov"], "eta_kl": {"log": (1e-5, 1e-1), "count": cells // 2}}},
        resources={"devices": 1, "cpus_per_device": 1, "batch": shard, "shard": shard},
    )
    folder, scoring = SweepFolder(spec.output), Scoring.of(spec.metrics or [])
    plan = make_plan(spec, folder)
    folder.write_summary(sweep_summary(spec, plan, scoring))
    items = plan.rows.where()
    for one in plan.shards:
        table = _scores(plan.cells, items.slice(one.first, one.count), scoring.metrics)
        folder.store.write_table(folder.scores_name(scoring.id, one.name), table)
        folder.store.write_bytes(folder.solved_name(one.name), b"")
    (place / _SPEC).write_text(spec.model_dump_json())
    return plan


def read_spec(place: Path) -> SweepSpec:
    """The specification whose scores were written here."""
    return SweepSpec.model_validate_json((place / _SPEC).read_text())


def _scores(cells: list[Cell], rows: pa.Table, metrics: list[str]) -> pa.Table:
    own = [cells[index] for index in rows["cell_index"].to_pylist()]
    random, count = np.random.default_rng(int(rows["item"][0].as_py()[:8], 16)), len(own)
    schema = shard_schema(metrics, [{"method": own[0].method}], [own[0].settings])
    columns: dict[str, Any] = {name: rows[name] for name in schema.names if name in rows.column_names}
    columns |= {name: [getattr(cell, name) for cell in own] for name in ("task", "arm", "method", "prior")}
    columns |= {name: [cell.settings[name] for cell in own] for name in own[0].settings}
    columns |= {name: [value] * count for name, value in _BESIDE.items()}
    columns |= {"seconds": 1 + random.random(count), "prior_seconds": random.random(count)}
    level = np.array([27 + (cell.settings["process"] == "star") + int(cell.id[0], 16) / 16 for cell in own])
    columns |= {name: level + random.normal(size=count) for name in metrics}
    return pa.table([columns.get(field.name, pa.nulls(count, field.type)) for field in schema], schema=schema)
