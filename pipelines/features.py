"""Features of a shard's reconstructions and truths, stored while it is scored, and the distances made from them."""

import math
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from torch import Tensor

from eval.distribution import (
    CellDistance,
    DistributionResult,
    Unavailable,
    build_distribution,
    distribution_network,
    extract_features,
    load_extractor,
)
from operators.plurals import counted
from pipelines.layout import SweepFolder
from pipelines.plan import Plan
from pipelines.scorings import Scoring
from pipelines.work_items import Shard

DISTANCES = pa.schema(
    [
        ("cell", pa.string()),
        ("metric", pa.string()),
        ("value", pa.float64()),
        ("count_truth", pa.int64()),
        ("count_images", pa.int64()),
        ("expected", pa.int64()),
        ("note", pa.string()),
        ("unavailable", pa.string()),
    ]
)
"""One distance of one cell, over how many of its images, or why there is none."""
_BATCH = 32
_TRUTH = "truth"
"""Stands where a reconstruction has its cell; no cell's id is a word."""


def write_features(
    folder: SweepFolder,
    scoring: str,
    shard: str,
    distribution: Sequence[str],
    rows: Sequence[dict[str, Any]],
    truth: Sequence[Tensor],
    images: Sequence[Tensor],
) -> None:
    """Store what the distances need of a shard; a network that is not available here leaves that to another try."""
    for network in networks(distribution):
        extractor = load_extractor(network)
        if isinstance(extractor, Unavailable):
            continue
        # every truth once: a shard holds many cells of the same measurement
        first = {row["measurement"]: index for index, row in enumerate(rows)}
        pictures = [*images, *(truth[index] for index in first.values())]
        table = pa.table(
            {
                "cell": pa.array([row["cell"] for row in rows] + [_TRUTH] * len(first), pa.string()),
                "item": pa.array([row["item"] for row in rows] + [None] * len(first), pa.string()),
                "measurement": pa.array([row["measurement"] for row in rows] + list(first), pa.string()),
                "seed": pa.array([row["seed"] for row in rows] + [0] * len(first), pa.int64()),
                "features": pa.FixedSizeListArray.from_arrays(
                    extract_features(extractor, pictures, _BATCH).ravel(), extractor.dim
                ),
            }
        )
        folder.store.write_table(folder.features_name(scoring, network, shard), table)


def networks(distribution: Sequence[str]) -> list[str]:
    """The networks that these distances read."""
    return sorted({distribution_network(name) for name in distribution})


def available(distribution: Sequence[str]) -> bool:
    """Whether any of their networks can be had in this process."""
    return any(not isinstance(load_extractor(network), Unavailable) for network in networks(distribution))


def without_features(folder: SweepFolder, plan: Plan, scoring: Scoring) -> list[Shard]:
    """Shards whose features are not all stored: a worker without a network's weights has skipped them."""
    stored = [folder.feature_shards(scoring.id, network) for network in networks(scoring.distribution)]
    return [shard for shard in plan.shards if any(shard.name not in names for names in stored)]


def cell_distances(folder: SweepFolder, plan: Plan, scorings: Sequence[Scoring]) -> pa.Table | None:
    """Every distance of every cell, from the features of the plan's items; None where no scoring has any."""
    asked: dict[str, Scoring] = {}
    for scoring in scorings:
        asked |= {name: scoring for name in scoring.distribution if name not in asked}
    if not asked:
        return None
    planned = folder.store.read_table(folder.plan_name(plan.id), columns=["item", "cell"])
    items = planned["item"].combine_chunks()
    expected = {row["values"]: row["counts"] for row in pc.value_counts(planned["cell"]).to_pylist()}
    results: list[tuple[str, DistributionResult]] = []
    sources = {name: (scoring.id, distribution_network(name)) for name, scoring in asked.items()}
    for source in dict.fromkeys(sources.values()):
        names = [name for name in sources if sources[name] == source]
        with tempfile.TemporaryDirectory(prefix="g2d2-features-") as place:
            stored = _Stored(folder, plan, *source, items, Path(place))
            for cell in plan.cells:
                results += [(cell.id, stored.distance(name, cell.id)) for name in names]
    rows = [
        result.model_dump(include=set(DISTANCES.names))
        | {"cell": cell, "metric": result.name, "expected": expected.get(cell, 0)}
        for cell, result in results
    ]
    return pa.Table.from_pylist(rows, schema=DISTANCES)


def distances_by_cell(table: pa.Table | None) -> dict[str, dict[str, CellDistance]]:
    """The same by cell and name; of a table that does not say how many images a cell has, all count as there."""
    cells: dict[str, dict[str, CellDistance]] = {}
    for row in [] if table is None else table.to_pylist():
        value = row["value"] if row["value"] is not None and math.isfinite(row["value"]) else None
        images = row["count_images"] or 0
        expected = images if row.get("expected") is None else row["expected"]
        distance = CellDistance(row["metric"], value, images, expected, row["unavailable"])
        cells.setdefault(row["cell"], {})[row["metric"]] = distance
    return cells


def distance_notes(by_cell: Mapping[str, Mapping[str, CellDistance]]) -> list[str]:
    """A sentence for each distance that some cells lack or have over a part of their images only."""
    problems: Counter[tuple[str, str]] = Counter()
    for distances in by_cell.values():
        problems.update((d.name, reason) for d in distances.values() if (reason := d.problem()) is not None)
    return [f"{name} of {counted(count, 'cell')}: {reason.rstrip('.')}" for (name, reason), count in problems.items()]


class _Stored:
    """Features of all shards in one file on disk, so that a large sweep's do not have to fit in memory."""

    def __init__(self, folder: SweepFolder, plan: Plan, scoring: str, network: str, items: pa.Array, place: Path):
        self.network, self.rows, self.truth = network, {cell.id: [] for cell in plan.cells}, {}  # type: ignore[var-annotated]
        self.dim, count, path = 0, 0, place / "features.f32"
        with path.open("wb") as file:
            for shard in plan.shards:
                name = folder.features_name(scoring, network, shard.name)
                if not folder.store.exists(name):
                    continue
                table = folder.store.read_table(name)
                # an earlier plan may have put more into this shard than the present one takes from it
                table = table.filter(pc.or_(pc.equal(table["cell"], _TRUTH), pc.is_in(table["item"], value_set=items)))
                features = _matrix(table["features"])
                self.dim = features.shape[1]
                file.write(features.tobytes())
                self._index(table, count)
                count += len(table)
        self.features = np.memmap(path, np.float32, "r", shape=(count, self.dim)) if count else np.zeros((0, 1))

    def _index(self, table: pa.Table, offset: int) -> None:
        columns = (table[name].to_pylist() for name in ("cell", "measurement", "seed"))
        for row, (cell, measurement, seed) in enumerate(zip(*columns, strict=True), start=offset):
            if cell == _TRUTH:
                self.truth[measurement] = row
            else:
                self.rows[cell].append((measurement, seed, row))

    def distance(self, name: str, cell: str) -> DistributionResult:
        """Rows in the order of measurements and seeds, whoever solved them and when: subsets are drawn by place."""
        rows = sorted(self.rows[cell])
        if not rows:
            return DistributionResult(name=name, unavailable=self._absence())
        images = self.features[[row for _, _, row in rows]]
        truths = self.features[[self.truth[measurement] for measurement in dict.fromkeys(row[0] for row in rows)]]
        return build_distribution(name).distance(np.asarray(truths), np.asarray(images))

    def _absence(self) -> str:
        extractor = load_extractor(self.network)
        return extractor.reason if isinstance(extractor, Unavailable) else "no reconstruction of this cell is scored"


def _matrix(column: pa.ChunkedArray) -> NDArray[np.float32]:
    array = column.combine_chunks()
    return array.flatten().to_numpy(zero_copy_only=False).reshape(len(array), array.type.list_size)  # type: ignore[no-any-return]
