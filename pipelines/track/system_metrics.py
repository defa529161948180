"""What MLflow's page of system metrics shows of a sweep: how busy its machines were while they solved."""

from collections.abc import Iterator
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from pipelines.schemas import LOAD_SCHEMA
from pipelines.storage.sweep_folder import SweepFolder

_POINTS = 500
"""Of a series at most; of a longer one every second, fourth, ... is logged, so that a later logging repeats points."""
_VALUES = [field.name for field in LOAD_SCHEMA if field.name not in ("time", "host")]


class SystemPoint(NamedTuple):
    """A point of a metric's history."""

    name: str
    value: float
    timestamp: int
    """Milliseconds since 1970."""
    step: int


def system_points(folder: SweepFolder) -> list[SystemPoint]:
    """All samples of all runs of a sweep; machines are numbered in the order in which they came."""
    names = folder.store.list("load/")
    if not names:
        return []
    rows = pa.concat_tables([folder.store.read_table(name, LOAD_SCHEMA.names) for name in names]).sort_by("time")
    points = list[SystemPoint]()
    for number, host in enumerate(pc.unique(rows["host"]).to_pylist()):
        own = rows.filter(pc.equal(rows["host"], host))
        for value in _VALUES:
            points += _series(f"system/node_{number}/{value}", value, own)
    return points


def _series(name: str, value: str, samples: pa.Table) -> Iterator[SystemPoint]:
    known, stride = samples.select(["time", value]).filter(pc.is_valid(samples[value])), 1
    while len(known) > stride * _POINTS:
        stride *= 2
    steps = range(0, len(known), stride)  # only these become Python objects
    for step, point in zip(steps, known.take(pa.array(steps, pa.int64())).to_pylist(), strict=True):
        yield SystemPoint(name, point[value], round(1000 * point["time"]), step)
