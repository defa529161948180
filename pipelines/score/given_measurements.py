"""What motions were given: operator and y of a manifest's rows, or of files that `measure` and `solve` wrote, by id."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from torch import Tensor

from operators import InputError, Operator, build_operator, find_signal
from operators.path import Path as KeyPoints
from operators.path import PathSettings
from operators.validation import did_you_mean, shorten
from pipelines.console.options import item_seed
from pipelines.manifest import Manifest, build_row_operator, decode_truth, measurement, read_row
from pipelines.manifest.manifest_record import SUMMARY_NAME
from pipelines.manifest.measurement_files import MEASURED, read_measurement_row
from pipelines.manifest.motion_build_settings import MOTION
from pipelines.manifest.schema import row_id
from pipelines.score.picture_scores import Row
from pipelines.storage import open_store

CROPPED = 3
"""Frames that published loaders leave out at most: they cut lengths to multiples of 4."""


@dataclass(frozen=True, eq=False)
class Given:
    """One measurement as it was given to a method."""

    operator: Operator
    y: Tensor
    sigma: float
    prompt: str
    truth: Tensor | None

    @classmethod
    def of_row(cls, row: dict[str, Any]) -> "Given":
        """Of a manifest's row, or of files read as one."""
        if row["signal"] != MOTION:
            raise InputError(f"{row['id']}: it measures the signal {row['signal']!r} and these are motions.")
        truth = None if row["truth"] is None else decode_truth(row)
        return cls(build_row_operator(row), measurement(row), float(row["sigma"]), row.get("prompt") or "", truth)


class GivenMeasurements:
    """Measurements by id, read when they are asked for: `path-5/walk` is found as that, and as `walk` too."""

    def __init__(self, source: str, readers: Mapping[str, Callable[[], Given]], names: Mapping[str, list[str]]):
        self.source = source
        self._readers = readers
        self._names = names
        """Ids by what a clip may be called."""

    @classmethod
    def open(cls, source: str, task: str | None = None) -> "GivenMeasurements":
        """Of a manifest, or of one of its tasks; or of a folder of NAME-measurement.npy and .json."""
        store = open_store(source)
        if store.exists(SUMMARY_NAME):
            return cls._of_manifest(source, Manifest.open(source), task)
        names = [name.removesuffix(f"{MEASURED}.json") for name in store.list() if name.endswith(f"{MEASURED}.json")]
        if not names:
            raise InputError(
                f"measurements: {source} is neither a manifest nor a folder of *{MEASURED}.json files, which "
                "`g2d2 measure` and `g2d2 solve` write of motions."
            )
        if task is not None:
            raise InputError(f"task: {source} is no manifest, so that its measurements have no tasks; leave it out.")
        readers = {name: partial(_of_files, store, name) for name in sorted(names)}
        return cls(source, readers, {name: [name] for name in readers})

    @classmethod
    def _of_manifest(cls, source: str, manifest: Manifest, task: str | None) -> "GivenMeasurements":
        if task is not None and task not in manifest.tasks:
            near = did_you_mean(task, manifest.tasks)
            raise InputError(f"task: {task!r} is not in {source}{near}; it has {', '.join(manifest.tasks)}.")
        readers: dict[str, Callable[[], Given]] = {}
        names: dict[str, list[str]] = {}
        for batch in manifest.index(["id", "source", "task"]):
            for row in batch.to_pylist():
                if task is not None and row["task"] != task:
                    continue
                readers[row["id"]] = partial(_of_place, manifest, (row["shard"], row["row"]))
                for name in {row["id"], row["source"]}:
                    names.setdefault(name, []).append(row["id"])
        return cls(source, readers, names)

    def __len__(self) -> int:
        return len(self._readers)

    def __iter__(self) -> Iterator[str]:
        return iter(self._readers)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def id_of(self, name: str) -> str:
        """The id of the measurement that a clip of this name was given."""
        found = self._names[name]
        if len(found) > 1:
            raise InputError(f"task: clip {name} was measured as {' and '.join(found)}; choose a task with --task.")
        return found[0]

    def __getitem__(self, name: str) -> Given:
        return self._readers[self.id_of(name)]()


class DrawnAnew:
    """Key frames of real clips where nobody says which ones a method was given: those of a manifest of the same seed.

    A row's key frames follow from its id there, `path-5/walk`, so that the task counts too.
    """

    source = None

    def __init__(self, clips: Mapping[str, Tensor], params: Mapping[str, Any], seed: int, task: str):
        self._clips, self._params, self._seed, self._task = clips, params, seed, task

    def __len__(self) -> int:
        return len(self._clips)

    def __iter__(self) -> Iterator[str]:
        return iter(self._clips)

    def __contains__(self, name: object) -> bool:
        return name in self._clips

    def id_of(self, name: str) -> str:
        """Of the row that a manifest would have."""
        return name if name.startswith(f"{self._task}/") else row_id(self._task, name)

    def __getitem__(self, name: str) -> Given:
        signal = find_signal(MOTION)
        truth = signal.decode(signal.encode(self._clips[name]), name)  # a manifest measures what it stores
        params = {"seed": item_seed(self._seed, self.id_of(name))} | dict(self._params)
        operator = build_operator("path", params, x_shape=tuple(truth.shape))
        return Given(operator, operator(truth[None])[0], 0.0, "", truth)


Measurements = GivenMeasurements | DrawnAnew


def read_given(measurements: Measurements, clips: Iterable[str]) -> tuple[dict[str, Given], list[Row]]:
    """What each clip was given, and why that of others cannot be said; an InputError where no clip has any."""
    called, found, failed = list(clips), dict[str, Given](), list[Row]()
    if called and measurements.source is not None and not any(name in measurements for name in called):
        raise InputError(
            f"measurements: {measurements.source} has none for any of {len(called)} clips; they are called "
            f"{shorten(', '.join(called))} and its ids are {shorten(', '.join(measurements))}."
        )
    for name in called:
        if name in measurements:
            measurements.id_of(name)  # where this is not clear, it is so for all: one sentence, not one for each
            try:
                found[name] = measurements[name]
            except InputError as error:
                failed.append(Row(name, error=str(error)))
    return found, failed


def fitted(given: Mapping[str, Given], clips: Mapping[str, Tensor]) -> tuple[dict[str, Given], list[Row]]:
    """What each clip was given, cut to the frames that a loader left of it, and clips of which too few are there."""
    found, failed = dict[str, Given](), list[Row]()
    for name, one in given.items():
        try:
            found[name] = _cut(one, len(clips[name]))
        except InputError as error:
            failed.append(Row(name, error=f"clip {name}: {error}"))
    return found, failed


def _cut(one: Given, frames: int) -> Given:
    """The same key points of a clip without its last frames."""
    operator, settings, wanted = one.operator, one.operator.settings, one.operator.x_shape[0]
    if frames >= wanted:
        return one
    if wanted - frames > CROPPED or not (isinstance(operator, KeyPoints) and isinstance(settings, PathSettings)):
        raise InputError(f"it has {frames} frames and its measurement is of {wanted}.")
    seen = operator.frames[0].tolist()
    if seen[-1] >= frames:
        raise InputError(
            f"it has {frames} of the {wanted} frames of its measurement, whose last key frame is {seen[-1]}."
        )
    shorter = type(operator)(settings.model_copy(update={"frames": tuple(seen)}), (frames, *operator.x_shape[1:]))
    return replace(one, operator=shorter, truth=None if one.truth is None else one.truth[:frames])


def _of_place(manifest: Manifest, place: tuple[int, int]) -> Given:
    return Given.of_row(read_row(manifest.fetch([place]), 0))


def _of_files(store: Any, name: str) -> Given:
    return Given.of_row(read_measurement_row(store, name))
