"""Committed scores that nobody computed: what a sweep of any size ends with, without its solving."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

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
    eta_kl = np.geomspace(1e-5, 1e-1, cells // 2).tolist()
    spec = specification(
        place,
        build_manifest(place, pictures),
        grid={"cross": {"process": ["star", "markov"], "eta_kl": eta_kl}},
        resources={"devices": 1, "cpus_per_device": 1, "batch": shard, "shard": shard},
    )
    folder, scoring = SweepFolder(spec.output), Scoring.of(spec.metrics or [])
    plan = make_plan(spec, folder)
    folder.write_summary(sweep_summary(spec, plan, scoring))
    items, made = plan.rows.where(), _MadeUp(plan.cells, scoring.metrics)
    for one in plan.shards:
        scores, solved = (Path(folder.url, name) for name in _names(folder, scoring.id, one.name))
        for file in (scores, solved):
            file.parent.mkdir(parents=True, exist_ok=True)
        # not by the store, which waits for the disk at every shard
        pq.write_table(made.scores(items.slice(one.first, one.count)), scores, compression="zstd")
        solved.touch()
    (place / _SPEC).write_text(spec.model_dump_json())
    return plan


def read_spec(place: Path) -> SweepSpec:
    """The specification whose scores were written here."""
    return SweepSpec.model_validate_json((place / _SPEC).read_text())


def _names(folder: SweepFolder, scoring: str, shard: str) -> tuple[str, str]:
    return folder.scores_name(scoring, shard), folder.solved_name(shard)


class _MadeUp:
    """Scores of shards: what cells have is made once, since a million rows repeat it."""

    def __init__(self, cells: list[Cell], metrics: list[str]) -> None:
        self.metrics, first = metrics, cells[0]
        self.schema = shard_schema(metrics, [{"method": first.method}], [first.settings])
        known = {name: [getattr(cell, name) for cell in cells] for name in ("task", "arm", "method", "prior")}
        known |= {name: [cell.settings[name] for cell in cells] for name in first.settings}
        self.cells = pa.table({name: pa.array(known[name], self.schema.field(name).type) for name in known})
        self.levels = np.array([27 + (cell.settings["process"] == "star") + int(cell.id[0], 16) / 16 for cell in cells])

    def scores(self, rows: pa.Table) -> pa.Table:
        places, count = rows["cell_index"].to_numpy(), len(rows)
        random = np.random.default_rng(int(rows["item"][0].as_py()[:8], 16))
        own = self.cells.take(pa.array(places))
        columns: dict[str, Any] = {name: rows[name] for name in self.schema.names if name in rows.column_names}
        columns |= {name: own[name] for name in own.column_names}
        columns |= {
            name: pa.repeat(pa.scalar(value, self.schema.field(name).type), count) for name, value in _BESIDE.items()
        }
        columns |= {"seconds": 1 + random.random(count), "prior_seconds": random.random(count)}
        columns |= {name: self.levels[places] + random.normal(size=count) for name in self.metrics}
        filled = [columns.get(field.name, pa.nulls(count, field.type)) for field in self.schema]
        return pa.table(filled, schema=self.schema)
