"""How busy machines were, as the system metrics of a sweep's run."""

import tracemalloc

import pyarrow as pa

from pipelines.schemas import LOAD_SCHEMA
from pipelines.storage.sweep_folder import SweepFolder
from pipelines.track import track_folder
from pipelines.track.system_metrics import system_points
from tests.pipelines.track.logged_runs import mlflow_client, runs_of


def test_the_load_of_machines_is_the_sweeps_system_metrics(sweep):
    def write(run, times):
        known = [
            {"time": at, "host": host, "cpu_percent": 10 * at, "memory_gib": 2.5}
            for at in times
            for host in ("second", "first")[at == 1 :]
        ]
        table = pa.Table.from_pylist(known, schema=LOAD_SCHEMA)
        SweepFolder(sweep.url).store.write_table(f"load/{run}/0.parquet", table)

    def history_of(name):
        parent, children = runs_of(sweep, track_folder(sweep.url))
        assert not [name for child in children.values() for name in child.data.metrics if name.startswith("system/")]
        points = mlflow_client(sweep).get_metric_history(parent.info.run_id, name)
        return [(one.step, one.timestamp, one.value) for one in points]

    write("late", [3])
    write("early", [1, 2])
    known = [(0, 1000, 10.0), (1, 2000, 20.0), (2, 3000, 30.0)]
    assert history_of("system/node_0/cpu_percent") == known
    assert history_of("system/node_1/cpu_percent") == [(0, 2000, 20.0), (1, 3000, 30.0)]
    assert history_of("system/node_0/gpu_percent") == []
    sweep.psnr = {(0.0003, "star", 0): 25.0}
    sweep.write()
    write("later", [4])
    assert history_of("system/node_0/cpu_percent") == [*known, (3, 4000, 40.0)]


def test_a_long_series_is_thinned_so_that_a_longer_one_repeats_its_points(tmp_path):
    folder = SweepFolder(str(tmp_path))

    def logged(count):
        known = [{"time": float(at), "host": "a", "memory_gib": 1.0} for at in range(count)]
        folder.store.write_table("load/run.parquet", pa.Table.from_pylist(known, schema=LOAD_SCHEMA))
        return system_points(folder)

    assert system_points(folder) == []
    few, some, many = logged(3), logged(600), logged(3000)
    assert (len(few), len(some), len(many)) == (3, 300, 375)
    assert set(many[:75]) <= set(some)


def test_a_series_takes_the_samples_of_all_parts_and_holds_few_of_them_as_objects(tmp_path):
    folder, parts = SweepFolder(str(tmp_path)), []
    for part in range(20):
        times = [float(at) for at in range(part, 20_000, 20)]
        known = {"time": times, "host": ["a"] * len(times), "memory_gib": times}
        columns = [known.get(field.name, pa.nulls(len(times), field.type)) for field in LOAD_SCHEMA]
        parts.append(f"load/run/{part}.parquet")
        folder.store.write_table(parts[-1], pa.table(columns, schema=LOAD_SCHEMA))
    system_points(folder)  # imports
    tracemalloc.start()
    points = system_points(folder)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [one.value for one in points] == [float(at) for at in range(0, 20_000, 64)]
    assert peak < 50 * 20_000
