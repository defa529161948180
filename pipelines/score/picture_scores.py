"""Scores of pairs of pictures, without a sweep: one row per pair, and what the metrics come to over all of them."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import torch
from torch import Tensor

from eval.metrics import MetricInfo, RowMetric, Scored, row_problems
from eval.pairing import Pair, Read
from eval.scores import score_schema
from eval.statistics import bootstrap_interval
from operators import InputError
from operators.pictures import write_bytes
from pipelines.score.scorings import SCORING_VERSION


@dataclass(frozen=True)
class Row:
    """One pair's scores; `error` says what could not be scored."""

    id: str
    values: dict[str, float] = field(default_factory=dict)
    error: str | None = None


def score_pairs(
    pairs: Sequence[Pair], metrics: Sequence[RowMetric], batch: int, decode: Callable[[Read, str], Tensor]
) -> Iterator[list[Row]]:
    """Rows in the order of the pairs; pictures of one size are scored together, one that cannot be read fails alone."""
    waiting: list[tuple[str, Tensor, Tensor]] = []
    for pair in pairs:
        try:
            truth, image = decode(pair.truth, f"{pair.id} (truth)"), decode(pair.reconstruction, pair.id)
            if truth.shape != image.shape:
                sizes = [f"{side.shape[2]}x{side.shape[1]}" for side in (image, truth)]
                raise InputError(f"image {pair.id}: it is {sizes[0]} and its truth {sizes[1]}: they must be equal.")
        except (InputError, OSError) as error:
            if waiting:
                yield _score(waiting, metrics)
            waiting = []
            yield [Row(pair.id, error=str(error))]
            continue
        if waiting and (len(waiting) == batch or waiting[0][1].shape != truth.shape):
            yield _score(waiting, metrics)
            waiting = []
        waiting.append((pair.id, truth, image))
    if waiting:
        yield _score(waiting, metrics)


def summarize(rows: Sequence[Row], metrics: Sequence[MetricInfo]) -> list[dict[str, Any]]:
    """Per metric the mean of the finite values with its 95 % bootstrap interval, and what is not in it."""
    return [_summary(info, rows) for info in metrics]


def _score(waiting: Sequence[tuple[str, Tensor, Tensor]], metrics: Sequence[RowMetric]) -> list[Row]:
    ids = [name for name, _, _ in waiting]
    scored = Scored(
        truth=torch.stack([truth for _, truth, _ in waiting]),
        x=torch.stack([image for _, _, image in waiting]),
        truth_keys=ids,
    )
    refused: list[str] = []
    columns: dict[str, list[float]] = {}
    for metric in metrics:
        try:
            columns[metric.name] = metric(scored).tolist()
        except InputError as error:  # such as pictures below the window of SSIM; other metrics go on
            refused.append(str(error))
            columns[metric.name] = [math.nan] * len(ids)
    return [
        Row(name, {metric: column[index] for metric, column in columns.items()}, problem or " ".join(refused) or None)
        for index, (name, problem) in enumerate(zip(ids, row_problems(scored), strict=True))
    ]


def _summary(info: MetricInfo, rows: Sequence[Row]) -> dict[str, Any]:
    values = [row.values.get(info.name, math.nan) for row in rows]
    finite = [value for value in values if math.isfinite(value)]
    interval = bootstrap_interval(finite, share=info.share) if finite else None
    failed = sum(math.isnan(value) for value in values)
    return {
        "metric": info.name,
        "better": info.direction,
        "unit": info.unit,
        "mean": interval.mean if interval else None,
        "low": interval.low if interval else None,
        "high": interval.high if interval else None,
        "count": len(finite),
        "infinite": len(values) - len(finite) - failed,
        "failed": failed,
    }


def write_scores(rows: Sequence[Row], metrics: Sequence[MetricInfo], cell: str, path: Path) -> None:
    """The same columns as a sweep's scores, so that what compares sweeps can compare folders."""
    records = [
        {"item": row.id, "measurement": row.id, "cell": cell, "seed": 0, "error": row.error}
        | {info.name: row.values.get(info.name, math.nan) for info in metrics}
        for row in rows
    ]
    buffer = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(records, schema=score_schema(metrics, {}, scoring=SCORING_VERSION)), buffer)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(buffer.getvalue().to_pybytes(), path)
