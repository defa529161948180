"""How busy machines are: sampled at every shard, kept by run."""

import time
from concurrent.futures import ThreadPoolExecutor

import torch

from operators import InputError
from pipelines.schemas import LOAD_SCHEMA
from pipelines.solve import machine_load
from pipelines.solve.machine_load import LoadRecord, MachineLoad
from pipelines.storage.sweep_folder import SweepFolder


def sample(**changes):
    return dict.fromkeys(LOAD_SCHEMA.names) | {"time": 1.0, "host": "a", "cpu_percent": 50.0} | changes


def test_a_sample_tells_work_and_memory_of_this_machine():
    load = MachineLoad("here", torch.device("cpu"))
    end = time.process_time() + 0.3
    while time.process_time() < end:
        pass
    with ThreadPoolExecutor(1) as other:  # devices are made in one thread and work in another
        known = other.submit(load.sample).result()
    assert set(known) == set(LOAD_SCHEMA.names)
    assert 0 < known["cpu_percent"] <= 100
    assert 0.05 < known["memory_gib"] < 100_000
    assert (known["host"], known["gpu_percent"], known["gpu_memory_gib"]) == ("here", None, None)


def test_samples_are_kept_however_the_run_ends(tmp_path):
    folder = SweepFolder(str(tmp_path))
    record = LoadRecord(folder, "run")
    try:
        with record.kept():
            record.add(sample())
            record.add(None)
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        pass
    table = folder.store.read_table("load/run.parquet")
    assert table.schema.equals(LOAD_SCHEMA)
    assert table["cpu_percent"].to_pylist() == [50.0]


def test_a_run_that_is_killed_loses_a_minute_at_most(tmp_path, monkeypatch):
    monkeypatch.setattr(machine_load, "_SECONDS_BETWEEN_WRITES", 0.0)
    record = LoadRecord(SweepFolder(str(tmp_path)), "run")
    record.add(sample())
    record.add(sample(time=2.0))
    assert len(record.folder.store.read_table("load/run.parquet")) == 2


def test_nothing_is_written_where_nothing_was_solved_and_a_store_that_is_away_stops_nothing(tmp_path, monkeypatch):
    record = LoadRecord(SweepFolder(str(tmp_path)), "run")
    with record.kept():
        pass
    assert record.folder.store.list("load/") == []

    def away(name, table):
        raise InputError("the store is away")

    monkeypatch.setattr(record.folder.store, "write_table", away)
    with record.kept():
        record.add(sample())
