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
    table = folder.store.read_table("load/run/0.parquet")
    assert table.schema.equals(LOAD_SCHEMA)
    assert table["cpu_percent"].to_pylist() == [50.0]


def test_a_run_that_is_killed_loses_a_minute_at_most(tmp_path, monkeypatch):
    monkeypatch.setattr(machine_load, "_SECONDS_BETWEEN_WRITES", 0.0)
    record = LoadRecord(SweepFolder(str(tmp_path)), "run")
    record.add(sample())
    record.add(sample(time=2.0))
    assert len(record.folder.store.read_table("load/run/0.parquet")) == 2


def kept_times(folder):
    tables = [folder.store.read_table(name) for name in folder.store.list("load/")]
    return sorted(time for table in tables for time in table["time"].to_pylist())


def test_a_long_run_holds_a_part_of_its_samples_and_writes_each_part_once(tmp_path, monkeypatch):
    folder = SweepFolder(str(tmp_path))
    record, sizes, write = LoadRecord(folder, "run"), [], folder.store.write_table
    monkeypatch.setattr(folder.store, "write_table", lambda name, table: (sizes.append(len(table)), write(name, table)))
    with record.kept():
        for at in range(2500):
            record.add(sample(time=float(at)))
            assert len(record.samples) < 1000
    assert sizes == [1000, 1000, 500]
    assert kept_times(folder) == [float(at) for at in range(2500)]


def test_parts_of_an_interrupted_run_stay_beside_those_of_the_next(tmp_path, monkeypatch):
    monkeypatch.setattr(machine_load, "_SAMPLES_IN_A_PART", 2)
    folder = SweepFolder(str(tmp_path))
    killed, next_run = LoadRecord(folder, "killed"), LoadRecord(folder, "next")
    for at in (1.0, 2.0, 3.0):  # it was killed before it wrote the third
        killed.add(sample(time=at))
    with next_run.kept():
        next_run.add(sample(time=4.0))
    assert kept_times(folder) == [1.0, 2.0, 4.0]


def test_a_store_that_is_away_fills_no_memory(tmp_path, monkeypatch):
    def away(name, table):
        raise InputError("the store is away")

    folder = SweepFolder(str(tmp_path))
    monkeypatch.setattr(folder.store, "write_table", away)
    record = LoadRecord(folder, "run")
    for at in range(2500):
        record.add(sample(time=float(at)))
    assert len(record.samples) == 500


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
