"""A small sweep folder, written as a finished sweep leaves it, without Ray, a prior or solving."""

import io
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
from PIL import Image

from eval.scores import score_schema
from g2d2.priors.locating import locate_prior
from operators import TASKS
from pipelines.manifest.manifest_record import Summary
from pipelines.manifest.schema import Row, canonical_json, to_batch
from pipelines.manifest.writing import ShardWriter
from pipelines.plan.cells import PlannedPrior, expand_cells, to_table
from pipelines.plan.item_ids import fingerprint, item_id
from pipelines.plan.sweep_spec import SweepSpec
from pipelines.schemas import ITEM_SCHEMA, SOLVED_SCHEMA
from pipelines.score.scoring import COSTS
from pipelines.score.scorings import scoring_id
from pipelines.storage import open_store
from pipelines.storage.sweep_folder import SweepFolder

METRICS = ["psnr", "ssim", "residual"]
SHARD_ROWS = 5


def picture(shade):
    array = np.full((32, 32, 3), 40, np.uint8)
    array[8:24, 8:24] = shade
    buffer = io.BytesIO()
    Image.fromarray(array).save(buffer, format="PNG")
    return buffer.getvalue()


@dataclass
class FakeSweep:
    """Its folder is written anew by every `write`; what is changed in between is an extension of the same sweep."""

    root: Path
    eta_kl: list = field(default_factory=lambda: [0.0003, 0.001])
    process: list = field(default_factory=lambda: ["star", "markov"])
    seeds: list = field(default_factory=lambda: [0])
    sources: int = 3
    tasks: list = field(default_factory=lambda: ["sr4-32"])
    cross: dict = field(default_factory=dict)
    """More that the grid varies."""
    points: list = field(default_factory=list)
    """Points of the grid, in the place of its product."""
    settings: dict = field(default_factory=lambda: {"steps": 25})
    preset: str = "paper"
    distribution: list = field(default_factory=list)
    prior_digest: str = "a-prior-digest"
    resources: dict = field(default_factory=dict)
    tracking: dict = field(default_factory=lambda: {"panels": 2})
    psnr: dict = field(default_factory=dict)
    """Values to plant, by (eta_kl, process, source)."""
    failed: set = field(default_factory=set)
    """Sources that could not be solved."""
    scorer: int = 1
    """Version of the scorer that the table says it is of."""

    @property
    def url(self):
        return str(self.root / "out")

    def spec(self):
        cross = {"process": self.process, "eta_kl": self.eta_kl} | self.cross
        grid = {"points": self.points} if self.points else {"cross": cross}
        return SweepSpec(
            name="tiny", manifest=str(self.root / "manifest"), prior="cifar10", output=self.url, seeds=self.seeds,
            metrics=METRICS, distribution=self.distribution, tracking=self.tracking,
            resources=self.resources,
            solver={"preset": self.preset, "settings": self.settings},
            grid=grid,
        )  # fmt: skip

    def write(self):
        spec, folder = self.spec(), SweepFolder(self.url)
        rows, manifest_digest = self._manifest()
        prior = PlannedPrior(locate_prior("cifar10"), self.prior_digest)
        cells = expand_cells(spec, self.tasks, {"cifar10": prior})
        plan, scoring = (
            fingerprint([c.id for c in cells], self.seeds, len(rows)),
            scoring_id(METRICS, self.distribution),
        )
        items = list(self._items(cells, rows))
        store = folder.store
        store.write_table(folder.cells_name(plan), to_table(cells))
        store.write_table(folder.plan_name(plan), pa.Table.from_pylist(items, schema=ITEM_SCHEMA))
        by_shard = {}
        for item in items:
            by_shard.setdefault(item["shard"], []).append(item)
        for shard, part in by_shard.items():
            solved = [self._solved(item, cells[item["cell_index"]]) for item in part]
            store.write_table(folder.solved_name(shard), pa.Table.from_pylist(solved, schema=SOLVED_SCHEMA))
        parameters = dict.fromkeys(("task", "arm", "method", "prior"), pa.string())
        parameters |= {n: pa.infer_type([v]) for n, v in cells[0].settings.items()}
        scores = [self._scored(item, cells[item["cell_index"]]) for item in items]
        schema = score_schema([*METRICS, *COSTS], parameters, scoring=self.scorer)
        store.write_table(folder.table_name(plan, scoring), pa.Table.from_pylist(scores, schema=schema))
        folder.write_summary(
            {
                "specification": spec.model_dump(mode="json"), "plan": plan, "scoring": scoring, "items": len(items),
                "cells": len(cells), "measurements": len(rows), "manifest_digest": manifest_digest,
                "priors": {"cifar10": self.prior_digest}, "version": "0.1.0",
                "started": "2026-01-01T00:00:00Z", "environment": {"python": "3.11.9", "torch": "2.13.0"},
            }
        )  # fmt: skip
        return self

    def _manifest(self):
        rows = []
        for task in (TASKS[name] for name in self.tasks):
            shape = task.build().y_shape
            for source in range(self.sources):
                y = np.full(shape, source / 10 - 0.5, np.float32)
                params = canonical_json(task.params)
                rows.append(
                    Row(f"{source:04d}", task.name, picture(80 + source), y, (3, 32, 32), task.operator, params,
                        task.sigma, "", None, source)
                )  # fmt: skip
        batch = to_batch(rows)
        digest = fingerprint(batch["digest"].to_pylist())
        store = open_store(str(self.root / "manifest"))
        for name in store.list():
            store.delete(name)
        writer = ShardWriter(store, 1000)
        writer.add(batch)
        writer.finish(
            Summary(rows=len(rows), tasks=self.tasks, digest=digest, shards=[], rejected=[], built={"by": "a test"})
        )
        return batch.select(["id", "digest", "task"]).to_pylist(), digest

    def _items(self, cells, rows):
        items = []
        for place, row in enumerate(rows):
            for seed in self.seeds:
                for cell in (cell for cell in cells if cell.task == row["task"]):
                    items.append(
                        {
                            "item": item_id(row["digest"], cell.recipe, seed), "measurement": row["id"],
                            "measurement_digest": row["digest"], "manifest_shard": 0, "manifest_row": place,
                            "cell": cell.id, "cell_index": cell.index, "seed": seed, "solver_seed": seed,
                        }
                    )  # fmt: skip
        for start in range(0, len(items), SHARD_ROWS):
            part = items[start : start + SHARD_ROWS]
            shard = fingerprint("shard", [item["item"] for item in part])
            yield from (item | {"shard": shard} for item in part)

    def _error(self, item):
        return "it failed" if int(item["measurement"][-4:]) in self.failed else None

    def _solved(self, item, cell):
        error = self._error(item)
        x = None if error else picture((120 + 10 * item["cell_index"]) % 256)
        device = "Some GPU a-private-host:123"
        return item | _identity(cell) | {"signal": "image", "error": error, "x": x, "device": device}

    def _scored(self, item, cell):
        source, error = int(item["measurement"][-4:]), self._error(item)
        planted = self.psnr.get((cell.settings["eta_kl"], cell.settings["process"], source))
        better = cell.settings["process"] == "star"
        psnr = 20 + better + source + item["seed"] / 10 if planted is None else planted
        values = {"psnr": psnr, "ssim": 0.5 + 0.01 * source, "residual": 1.0, "seconds": 2.0, "peak_bytes": 0.0}
        values = dict.fromkeys(values, float("nan")) if error else values
        return item | _identity(cell) | {**cell.settings, "error": error, **values}


def _identity(cell):
    return {name: getattr(cell, name) for name in ("task", "arm", "method", "prior")}
