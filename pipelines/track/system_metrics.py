"""What MLflow's page of system metrics shows of a sweep: how busy its machines were while they solved."""

from collections.abc import Iterator
from typing import NamedTuple

import pyarrow as pa

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
    rows = pa.concat_tables([folder.store.read_table(name, LOAD_SCHEMA.names) for name in names])
    samples = rows.sort_by("time").to_pylist()
    hosts = {host: f"node_{number}" for number, host in enumerate(dict.fromkeys(one["host"] for one in samples))}
    return [
        point
        for host, node in hosts.items()
        for value in _VALUES
        for point in _series(f"system/{node}/{value}", value, [one for one in samples if one["host"] == host])
    ]


def _series(name: str, value: str, samples: list[dict[str, float]]) -> Iterator[SystemPoint]:
    known, stride = [one for one in samples if one[value] is not None], 1
    while len(known) > stride * _POINTS:
        stride *= 2
    for step in range(0, len(known), stride):
        yield SystemPoint(name, known[step][value], round(1000 * known[step]["time"]), step)
