"""Nights without Ray: a sweep's folder filled by hand, with rows that failed or are missing on demand."""

import io
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import yaml
from PIL import Image

from eval.scores import score_schema
from pipelines.plan.planning import make_plan
from pipelines.schemas import SOLVED_SCHEMA
from pipelines.score.scorings import SCORING_VERSION, Scoring
from pipelines.storage.sweep_folder import SweepFolder
from pipelines.sweep import collect, failed_shards, sweep_summary


@dataclass
class HandSolved:
    """Takes the place of `run_sweep`; a row is known by its cell's process and its place among the measurements."""

    failed: set = field(default_factory=set)
    missing: set = field(default_factory=set)
    solved: int = 0
    """Rows of the last call."""

    def __call__(self, spec, retry_failed=False):
        folder = SweepFolder(spec.output)
        plan, own = make_plan(spec, folder), Scoring.of(spec.metrics, spec.distribution)
        scoring = own.id
        summary = sweep_summary(spec, plan, own)
        folder.write_summary(summary)
        done = folder.solved_shards() - (failed_shards(folder, plan, scoring) if retry_failed else set())
        items = folder.store.read_table(folder.plan_name(plan.id)).to_pylist()
        self.solved = 0
        for shard in plan.shards:
            if shard.name not in done:
                rows = [self._row(item, plan.cells) for item in items[shard.first : shard.first + shard.count]]
                kept = [row for row in rows if row["place"] not in self.missing]
                self.solved += len(rows)
                solved = pa.Table.from_pylist(kept, schema=SOLVED_SCHEMA)
                folder.store.write_table(folder.solved_name(shard.name), solved)
                parameters = dict.fromkeys(("task", "arm", "method", "prior", "process"), pa.string())
                parameters |= {"iterations": pa.int64()}
                schema = score_schema([*spec.metrics, "seconds", "peak_bytes"], parameters, scoring=SCORING_VERSION)
                scores = pa.Table.from_pylist(kept, schema=schema)
                folder.store.write_table(folder.scores_name(scoring, shard.name), scores)
        return collect(folder, plan, summary)

    def _row(self, item, cells):
        cell, number = cells[item["cell_index"]], item["manifest_row"]
        place = (cell.settings["process"], number)
        error = "it failed" if place in self.failed else None
        numbers = {"psnr": 20.0 + number, "residual": 1.0, "seconds": 1.0, "peak_bytes": 300}
        numbers = dict.fromkeys(numbers) if error else numbers
        facts = {name: getattr(cell, name) for name in ("task", "arm", "method", "prior")}
        facts |= {name: cell.settings[name] for name in ("process", "iterations")}
        facts |= {"signal": "image", "settings": "{}", "device": "cpu", "batch_rows": 1}
        return item | numbers | facts | {"error": error, "x": None if error else _picture(), "place": place}


def change(path, **changes):
    """Other values in the sweep of a nightly specification."""
    values = yaml.safe_load(path.read_text())
    values["sweep"] |= changes
    path.write_text(yaml.safe_dump(values))


def _picture():
    buffer = io.BytesIO()
    Image.fromarray(np.full((8, 8, 3), 120, np.uint8)).save(buffer, format="PNG")
    return buffer.getvalue()
