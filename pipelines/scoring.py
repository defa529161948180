"""Scores of a solved shard: computed from what is stored, so that scoring again gives the same numbers."""

import json
import math
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import pyarrow as pa
import torch
from torch import Tensor

from eval.metrics import Metric, Scored, build_metric, score
from eval.scores import PROVENANCE, ROW_COSTS, score_schema
from g2d2.settings import G2D2Settings
from operators import InputError, Operator, stack_operators
from pipelines.features import networks_of, write_features
from pipelines.images import decode_stored
from pipelines.layout import SweepFolder
from pipelines.manifest import (
    Manifest,
    build_row_operator,
    check_content,
    content_digest,
    decode_truth,
    measurement,
    read_row,
)
from pipelines.scorings import SCORING_VERSION, Scoring

COSTS = ("seconds", "peak_bytes")
"""Measured while solving; they stand beside the metrics."""


@dataclass(frozen=True)
class ShardScorer:
    """Scores shards of one sweep. Metric networks load once per process."""

    output: str
    manifest_url: str
    scoring: Scoring
    only_network: str | None = None
    """Store this network's features alone, of shards whose scores are committed."""

    @cached_property
    def folder(self) -> SweepFolder:
        return SweepFolder(self.output)

    @cached_property
    def manifest(self) -> Manifest:
        return Manifest.open(self.manifest_url)

    def __call__(self, shard: str) -> dict[str, Any]:
        """Score a solved shard and commit its scores; what an item was solved with stands beside them."""
        metrics, features_alone = self.scoring.metrics, self.only_network is not None
        networks = networks_of(self.scoring.distribution) if self.only_network is None else [self.only_network]
        records = [_record(row) for row in self.folder.read_solved(shard).to_pylist()]
        rows = self._scorable(records)
        scored = _scored(rows) if rows else None
        if scored is not None and not features_alone:
            for name, values in score([loaded_metric(name) for name in metrics], scored).items():
                for row, value in zip(rows, values.tolist(), strict=True):
                    row.record[name] = value
        pictures = ([], []) if scored is None else (list(scored.truth), list(scored.images))
        write_features(self.folder, self.scoring.id, shard, networks, [row.record for row in rows], *pictures)
        if not features_alone:
            schema = score_schema([*metrics, *COSTS], _PARAMETERS, _BESIDE, scoring=SCORING_VERSION)
            lines = [{name: record.get(name, math.nan) for name in schema.names} for record in records]
            name = self.folder.scores_name(self.scoring.id, shard)
            self.folder.store.write_table(name, pa.Table.from_pylist(lines, schema=schema))
        failed = sum(record["error"] is not None for record in records)
        return {"shard": shard, "rows": len(records), "failed": failed}

    def _scorable(self, records: list[dict[str, Any]]) -> list["_Row"]:
        """Solved rows with their truth and measurement; a row without them carries the reason instead of scores."""
        solved = [record for record in records if record["error"] is None]
        table = self.manifest.fetch_measured(
            [(record["manifest_shard"], record["manifest_row"]) for record in solved],
            [record["measurement_digest"] for record in solved],
        )
        rows = []
        for index, record in enumerate(solved):
            measured = read_row(table, index)
            try:
                check_content(measured, content_digest(measured), record["measurement_digest"])
                rows.append(
                    _Row(record, measured, decode_truth(measured), measurement(measured), build_row_operator(measured))
                )
            except InputError as error:
                record["error"] = f"not scored: {error}"
        return rows


@dataclass(frozen=True)
class _Row:
    record: dict[str, Any]
    measured: dict[str, Any]
    truth: Tensor
    y: Tensor
    operator: Operator


def _scored(rows: list[_Row]) -> Scored:
    return Scored(
        truth=torch.stack([row.truth for row in rows]),
        # always the picture, never the floats: what else is kept must not change a score
        images=torch.stack([decode_stored(row.record["image"], row.record["item"]) for row in rows]),
        truth_keys=[row.measured["source"] for row in rows],
        operator=stack_operators([row.operator for row in rows]),
        y=torch.stack([row.y for row in rows]),
        sigma=torch.tensor([row.measured["sigma"] for row in rows], dtype=torch.float64),
    )


@cache
def loaded_metric(name: str) -> Metric:
    """The metric with its networks, once per process."""
    return build_metric(name)


def _record(row: dict[str, Any]) -> dict[str, Any]:
    """A solved row with its settings as columns, NaN where nothing was measured, and its device without the machine."""
    record: dict[str, Any] = row | json.loads(row["settings"])
    device = row["device"] and (row["device"].rpartition(" ")[0] or row["device"])
    costs = {name: math.nan if row[name] is None else float(row[name]) for name in COSTS}
    return dict.fromkeys(_BESIDE) | record | costs | {"device": device}


_ARROW = {float: pa.float64(), int: pa.int64(), str: pa.string()}
_PARAMETERS = {"task": pa.string()} | {name: _ARROW[type(value)] for name, value in G2D2Settings().model_dump().items()}
"""Columns that say what a row was solved with."""
_BESIDE = {name: kind for name, kind in (ROW_COSTS | PROVENANCE).items() if name not in COSTS}
