"""Features of a shard's reconstructions and truths, stored while it is scored, and the distances made from them."""

import math
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from torch import Tensor

from eval.distribution import (
    CellDistance,
    DistributionResult,
    FeatureExtractor,
    Unavailable,
    build_distribution,
    distribution_network,
    distribution_signal,
    extract_features,
    load_extractor,
)
from eval.distribution.motion_names import EMBEDDED, T2M
from eval.distribution.motion_sets import score_motion_set
from eval.embedding_sets import EmbeddedSet
from eval.motion_evaluators import MotionEvaluator, load_evaluator
from operators import InputError
from operators.plurals import counted
from pipelines.plan.planning import Plan
from pipelines.plan.work_items import Shard
from pipelines.schemas import DISTANCES, FEATURE_KEYS
from pipelines.score.scorings import Scoring
from pipelines.storage import readable
from pipelines.storage.sweep_folder import SweepFolder

_LATER = ("expected", "interval", "of_truth")
"""Columns that tables of earlier versions lack."""
_BATCH = 32
_TRUTH, _TEXT = "truth", "text"
"""Stand where a reconstruction has its cell; no cell's id is a word."""


def write_features(
    folder: SweepFolder,
    scoring: str,
    shard: str,
    networks: Sequence[str],
    rows: Sequence[dict[str, Any]],
    truth: Sequence[Tensor | None],
    x: Sequence[Tensor],
    prompts: Sequence[str] = (),
) -> None:
    """Store what these networks make of a shard; one that is not available here leaves that to another try."""
    for network in networks:
        extractor = _load(network)
        if isinstance(extractor, Unavailable):
            continue
        if isinstance(extractor, MotionEvaluator):
            table = _motion_features(extractor, rows, truth, x, prompts)
        else:  # of rows that have a truth: there is nothing to hold the others against
            known = [index for index, one in enumerate(truth) if one is not None]
            once = _once(rows, known)
            pictures = [*(x[index] for index in known), *_chosen(truth, once)]
            features = extract_features(extractor, pictures, _BATCH)
            table = _features_table([rows[index] for index in known], {_TRUTH: once}, features)
        folder.store.write_table(folder.features_name(scoring, network, shard), table)


def _motion_features(
    evaluator: MotionEvaluator,
    rows: Sequence[dict[str, Any]],
    truth: Sequence[Tensor | None],
    x: Sequence[Tensor],
    prompts: Sequence[str],
) -> pa.Table:
    """Of all motions, of their truths and of their prompts, as far as there are any."""
    known = [index for index, one in enumerate(truth) if one is not None]
    told = [index for index, prompt in enumerate(prompts) if prompt]
    once = {_TRUTH: _once(rows, known), _TEXT: _once(rows, told)}
    if not rows:
        return _features_table([], {}, np.zeros((0, 1), np.float32))
    motions = evaluator.motions([*x, *_chosen(truth, once[_TRUTH])])
    try:
        texts = evaluator.texts([prompts[index] for index in once[_TEXT].values()])
    except InputError:  # it cannot read these prompts; what needs no text has its numbers all the same
        once[_TEXT], texts = {}, motions[:0]
    return _features_table(rows, once, np.concatenate([motions, texts]) if len(texts) else motions)


def _features_table(
    rows: Sequence[dict[str, Any]], beside: Mapping[str, Mapping[str, int]], features: NDArray[np.float32]
) -> pa.Table:
    """Features of rows, then by kind those of their measurements, under the keys that say what each is of."""
    others = [(kind, measurement) for kind, once in beside.items() for measurement in once]
    keys = {
        "cell": [row["cell"] for row in rows] + [kind for kind, _ in others],
        "item": [row["item"] for row in rows] + [None] * len(others),
        "measurement": [row["measurement"] for row in rows] + [measurement for _, measurement in others],
        "seed": [row["seed"] for row in rows] + [0] * len(others),
    }
    columns: dict[str, Any] = {name: pa.array(values, FEATURE_KEYS[name]) for name, values in keys.items()}
    columns["features"] = pa.FixedSizeListArray.from_arrays(features.ravel(), features.shape[1])
    return pa.table(columns)


def _once(rows: Sequence[dict[str, Any]], places: Iterable[int]) -> dict[str, int]:
    """One row of each measurement: a shard holds many cells of the same one."""
    return {rows[index]["measurement"]: index for index in places}


def _chosen(truth: Sequence[Tensor | None], once: Mapping[str, int]) -> Iterator[Tensor]:
    return (one for index in once.values() if (one := truth[index]) is not None)


def _load(network: str) -> FeatureExtractor | MotionEvaluator | Unavailable:
    return load_evaluator(network) if network in (EMBEDDED, T2M) else load_extractor(network)


def refuse_signals(distribution: Sequence[str], signals: Iterable[str]) -> None:
    """Raise an InputError unless all rows are of the one signal that each of these numbers is about."""
    present = set(signals)
    for name in distribution:
        own = distribution_signal(name)
        if other := next(iter(present - {own}), None):
            raise InputError(
                f"distribution: {name} is about sets of {own}s, and these rows are of {other}; leave it out."
            )


def networks_of(distribution: Sequence[str]) -> list[str]:
    """The networks that these distances read."""
    return sorted({distribution_network(name) for name in distribution})


def without_features(folder: SweepFolder, plan: Plan, scoring: Scoring) -> dict[str, list[Shard]]:
    """By network that can be had here, the solved shards that a worker without its weights has skipped."""
    lacking, solved = {}, folder.solved_shards() if scoring.distribution else set()
    for network in networks_of(scoring.distribution):
        names = solved - folder.feature_shards(scoring.id, network)
        shards = [shard for shard in plan.shards if shard.name in names]
        if shards and not isinstance(_load(network), Unavailable):  # loaded only where it has work
            lacking[network] = shards
    return lacking


def cell_distances(folder: SweepFolder, plan: Plan, scorings: Sequence[Scoring]) -> pa.Table | None:
    """Every distance of every cell, from the features of the plan's items; None where no scoring has any."""
    asked: dict[str, Scoring] = {}
    for scoring in scorings:
        asked |= {name: scoring for name in scoring.distribution if name not in asked}
    if not asked:
        return None
    expected = plan.rows.per_cell()
    results: list[tuple[str, DistributionResult]] = []
    sources = {name: (scoring.id, distribution_network(name)) for name, scoring in asked.items()}
    for source in dict.fromkeys(sources.values()):
        names = [name for name in sources if sources[name] == source]
        with tempfile.TemporaryDirectory(prefix="g2d2-features-") as place:
            stored = _Stored(folder, plan, *source, Path(place))
            for cell in plan.cells:
                results += [(cell.id, stored.distance(name, cell.id)) for name in names]
    rows = [
        result.model_dump(include=set(DISTANCES.names))
        | {"cell": cell, "metric": result.name, "expected": expected.get(cell, 0)}
        for cell, result in results
    ]
    return pa.Table.from_pylist(rows, schema=DISTANCES)


def read_distances(folder: SweepFolder, plan: str, scoring: str) -> pa.Table | None:
    """The distances that a sweep collected; None where it has none."""
    name = folder.distances_name(plan, scoring)
    if not folder.store.exists(name):
        return None
    table = folder.store.read_table(name)
    with readable(folder.store.url(name)):
        missing = [one for one in DISTANCES.names if one not in (*table.column_names, *_LATER)]
        if missing:
            raise ValueError(f"it has no column {missing[0]}")
        schema = pa.schema([field for field in DISTANCES if field.name in table.column_names])
        table = table.select(schema.names).cast(schema)
        if table["cell"].null_count or table["metric"].null_count:
            raise ValueError("its rows do not say which cell and metric they are of")
    return table


def distances_by_cell(table: pa.Table | None) -> dict[str, dict[str, CellDistance]]:
    """The same by cell and name; of a table that does not say how many images a cell has, all count as there."""
    cells: dict[str, dict[str, CellDistance]] = {}
    for row in [] if table is None else table.to_pylist():
        value = row["value"] if row["value"] is not None and math.isfinite(row["value"]) else None
        images = row["count_images"] or 0
        expected = images if row.get("expected") is None else row["expected"]
        beside = row.get("interval"), row.get("of_truth")
        distance = CellDistance(row["metric"], value, images, expected, row["unavailable"], *beside)
        cells.setdefault(row["cell"], {})[row["metric"]] = distance
    return cells


def distance_notes(by_cell: Mapping[str, Mapping[str, CellDistance]]) -> list[str]:
    """A sentence for each distance that some cells lack or have over a part of their images only."""
    problems: Counter[tuple[str, str]] = Counter()
    for distances in by_cell.values():
        problems.update((d.name, reason) for d in distances.values() if (reason := d.problem()) is not None)
    return [f"{name} of {counted(count, 'cell')}: {reason.rstrip('.')}" for (name, reason), count in problems.items()]


class _Row(NamedTuple):
    """A reconstruction, and the places of its features, of its truth's and of its prompt's."""

    measurement: str
    seed: int
    place: int
    truth: int
    text: int


_ABSENT = -1
"""Place of what a row does not have."""


class _Stored:
    """Features of all shards in one file on disk, so that a large sweep's do not have to fit in memory."""

    def __init__(self, folder: SweepFolder, plan: Plan, scoring: str, network: str, place: Path):
        self.network, self.dim = network, 0
        self.rows: dict[str, list[_Row]] = {cell.id: [] for cell in plan.cells}
        count, path, stored = 0, place / "features.f32", folder.feature_shards(scoring, network)
        with path.open("wb") as file:
            shards = [shard for shard in plan.shards if shard.name in stored]
            for shard, items in zip(shards, plan.rows.ids_of(shards), strict=True):
                name = folder.features_name(scoring, network, shard.name)
                table = folder.store.read_table(name, columns=[*FEATURE_KEYS, "features"])
                with readable(folder.store.url(name)):
                    features = self._index(table, items, count)
                file.write(features.tobytes())
                count += len(features)
        self.features = np.memmap(path, np.float32, "r", shape=(count, self.dim)) if count else np.zeros((0, 1))

    def _index(self, table: pa.Table, items: pa.Array, offset: int) -> NDArray[np.float32]:
        """The features of the rows that the plan takes; each reconstruction is noted with the truth beside it.

        Another shard may hold another truth of the same name, from before its picture was corrected.
        """
        features = _matrix(table["features"])
        if not len(features):  # nothing of this shard could be scored
            return features
        if self.dim not in (0, features.shape[1]):
            raise ValueError("its features are not as long as those of other shards")
        self.dim = features.shape[1]
        table = pa.table([table[name].cast(kind) for name, kind in FEATURE_KEYS.items()], names=[*FEATURE_KEYS])
        if any(table[name].null_count for name in ("cell", "measurement", "seed")):
            raise ValueError("its rows do not say what they are of")
        # an earlier plan may have put more into this shard than the present one takes from it
        beside = pc.is_in(table["cell"], value_set=pa.array([_TRUTH, _TEXT]))
        taken = pc.or_(beside, pc.is_in(table["item"], value_set=items))
        rows = list(enumerate(table.filter(taken).to_pylist(), start=offset))
        truth, text = (
            {row["measurement"]: place for place, row in rows if row["cell"] == kind} for kind in (_TRUTH, _TEXT)
        )
        for place, row in rows:
            cell, measurement = row["cell"], row["measurement"]
            if cell in (_TRUTH, _TEXT):
                continue
            if cell not in self.rows:
                raise ValueError("it has other cells")
            if measurement not in truth and self.network not in (EMBEDDED, T2M):
                raise ValueError(f"it lacks the truth of {measurement}")
            own = truth.get(measurement, _ABSENT), text.get(measurement, _ABSENT)
            self.rows[cell].append(_Row(measurement, row["seed"], place, *own))
        kept: NDArray[np.float32] = features[taken.to_numpy()]
        return kept

    def distance(self, name: str, cell: str) -> DistributionResult:
        """Rows in the order of measurements and seeds, whoever solved them and when: subsets are drawn by place."""
        rows = sorted(self.rows[cell])
        if not rows:
            return DistributionResult(name=name, unavailable=self._absence())
        if distribution_signal(name) == "motion":
            once = {row.measurement: row for row in rows if row.truth != _ABSENT}.values()
            sides = [(row.place, row.text) for row in rows], [(row.truth, row.text) for row in once]
            return score_motion_set(name, *map(self._embedded, sides))
        images = self.features[[row.place for row in rows]]
        truths = self.features[[*{row.measurement: row.truth for row in rows}.values()]]
        return build_distribution(name).distance(np.asarray(truths), np.asarray(images))

    def _embedded(self, places: Sequence[tuple[int, int]]) -> EmbeddedSet:
        """Motions at these places, and the texts of those that have one."""
        told = [index for index, (_, text) in enumerate(places) if text != _ABSENT]
        motions, texts = [place for place, _ in places], [places[index][1] for index in told]
        own = [np.asarray(self.features[np.array(some, dtype=np.intp)]) for some in (motions, texts)]
        return EmbeddedSet(own[0], own[1], np.array(told, dtype=np.intp))

    def _absence(self) -> str:
        extractor = _load(self.network)
        return extractor.reason if isinstance(extractor, Unavailable) else "no reconstruction of this cell is scored"


def _matrix(column: pa.ChunkedArray) -> NDArray[np.float32]:
    array = column.combine_chunks()
    if not pa.types.is_fixed_size_list(array.type) or array.type.value_type != pa.float32():
        raise ValueError(f"its features are {array.type}")
    return array.flatten().to_numpy(zero_copy_only=False).reshape(len(array), array.type.list_size)  # type: ignore[no-any-return]
