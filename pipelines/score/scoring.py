"""Scores of a solved shard: computed from what is stored, so that scoring again gives the same numbers."""

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import pyarrow as pa
from torch import Tensor

from eval.metrics import COSTS as COST_FACTS
from eval.metrics import RowMetric, ScoredRow, build_metric, metric_columns, metric_info, score_rows
from eval.score_columns import CELL_COLUMNS, arrow_type, refuse_reserved
from eval.scores import PROVENANCE, ROW_COSTS, score_schema
from g2d2.methods import find_method
from operators import InputError, find_signal
from pipelines.manifest import (
    Manifest,
    build_row_operator,
    check_content,
    content_digest,
    decode_truth,
    measurement,
    read_row,
)
from pipelines.schemas import SOLVED_SCHEMA
from pipelines.score.features import networks_of, refuse_signals, write_features
from pipelines.score.scorings import SCORING_VERSION, Scoring
from pipelines.storage import readable
from pipelines.storage.sweep_folder import SweepFolder

COSTS = tuple(COST_FACTS)
"""Measured while solving; they stand beside the metrics."""
_BESIDE = {name: kind for name, kind in (ROW_COSTS | PROVENANCE).items() if name not in COSTS}

Settings = dict[str, Any]


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

    def written(self, shard: str) -> str:
        """The name of the file that scoring a shard ends with."""
        if self.only_network is not None:
            return self.folder.features_name(self.scoring.id, self.only_network, shard)
        return self.folder.scores_name(self.scoring.id, shard)

    def __call__(self, shard: str) -> dict[str, Any]:
        """Score a solved shard and commit its scores; what an item was solved with stands beside them."""
        solved = self._read(shard)
        settings = [plain_settings(row) for row in solved]
        records = [_record(row, own) for row, own in zip(solved, settings, strict=True)]
        rows = self._scorable(records)
        if self.only_network is None:
            self._score(rows)
            self._write_features(shard, networks_of(self.scoring.distribution), rows)
            schema = shard_schema(self.scoring.metrics, records, settings)
            unscored = dict.fromkeys(metric_columns(self.scoring.metrics), math.nan)
            lines = [{name: (unscored | record).get(name) for name in schema.names} for record in records]
            name = self.folder.scores_name(self.scoring.id, shard)
            self.folder.store.write_table(name, pa.Table.from_pylist(lines, schema=schema))
        else:
            self._write_features(shard, [self.only_network], rows)
        failed = sum(record["error"] is not None for record in records)
        return {"shard": shard, "rows": len(records), "failed": failed}

    def _read(self, shard: str) -> list[dict[str, Any]]:
        table = self.folder.read_solved(shard)
        with readable(self.folder.store.url(self.folder.solved_name(shard))):
            missing = [name for name in SOLVED_SCHEMA.names if name not in table.column_names]
            if missing:
                raise ValueError(f"it has no column {missing[0]}")
        rows: list[dict[str, Any]] = table.to_pylist()
        return rows

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
                # always the stored form, never the floats: what else is kept must not change a score
                x = find_signal(record["signal"]).decode(record["x"], record["item"])
                rows.append(_Row(record, scored_row(measured, x), measured["prompt"]))
            except InputError as error:
                record["error"] = f"not scored: {error}"
        return rows

    def _score(self, rows: list["_Row"]) -> None:
        metrics = [loaded_metric(name) for name in self.scoring.metrics]
        for name, values in score_rows(metrics, [row.scored for row in rows]).items():
            for row, value in zip(rows, values.tolist(), strict=True):
                row.record[name] = value

    def _write_features(self, shard: str, networks: Sequence[str], rows: list["_Row"]) -> None:
        if not networks:
            return
        refuse_signals(self.scoring.distribution, (row.scored.signal for row in rows))
        write_features(
            self.folder,
            self.scoring.id,
            shard,
            networks,
            [row.record for row in rows],
            [row.scored.truth for row in rows],
            [row.scored.x for row in rows],
            [row.prompt for row in rows],
        )


@dataclass(frozen=True)
class _Row:
    record: dict[str, Any]
    scored: ScoredRow
    prompt: str


def scored_row(measured: dict[str, Any], x: Tensor) -> ScoredRow:
    """x beside what a manifest's row holds of it; the truth is None where the row has none."""
    return ScoredRow(
        x=x,
        truth=None if measured["truth"] is None else decode_truth(measured),
        operator=build_row_operator(measured),
        y=measurement(measured),
        sigma=measured["sigma"],
        truth_key=measured["source"],
        signal=measured["signal"],
    )


def shard_schema(metrics: Iterable[str], records: list[dict[str, Any]], settings: list[Settings]) -> pa.Schema:
    """Of a shard's scores: task, arm, method, prior, the settings of its rows' methods, metrics, costs, provenance."""
    names = list(dict.fromkeys(name for own in settings for name in own))
    parameters = dict.fromkeys(CELL_COLUMNS, pa.string())
    parameters |= {name: arrow_type(own.get(name) for own in settings) for name in names}
    free = dict.fromkeys(name for method in dict.fromkeys(row["method"] for row in records) for name in _free(method))
    infos = [metric_info(name) for name in metrics]
    return score_schema([*infos, *COSTS], parameters, _BESIDE, scoring=SCORING_VERSION, free=list(free))


def plain_settings(row: dict[str, Any]) -> Settings:
    """What a row was solved with, each a plain value or its JSON."""
    settings: dict[str, Any] = json.loads(row["settings"])
    refuse_reserved(settings, f"settings of {row['method']}")
    return {
        name: value if value is None or isinstance(value, str | int | float | bool) else json.dumps(value)
        for name, value in settings.items()
    }


@cache
def loaded_metric(name: str) -> RowMetric:
    """The metric with its networks, once per process."""
    return build_metric(name)


def _free(method: str) -> tuple[str, ...]:
    """Settings that may differ within a batch. A method whose file is gone has none; no score depends on it."""
    try:
        return find_method(method).Settings.free_fields()
    except InputError:
        return ()


def _record(row: dict[str, Any], settings: Settings) -> dict[str, Any]:
    """A solved row with its settings as columns, NaN where nothing was measured, and its device without the machine."""
    device = row["device"] and (row["device"].rpartition(" ")[0] or row["device"])
    costs = {name: math.nan if row[name] is None else float(row[name]) for name in COSTS}
    return row | settings | costs | {"device": device}
