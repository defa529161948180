"""Ray Data's settings reach the datasets of a sweep, and no others; a worker's own sentence comes through."""

import os
import subprocess

import pyarrow as pa
import pytest
from ray.data import DataContext

from tests.pipelines.solve.troubled_methods import SLOW_SECONDS, no_space
from tests.pipelines.sweep_cases import run, specification, write_spec


@pytest.fixture
def impatient(local_ray):
    """A process whose own datasets may not rest for as long as the slow solver does."""
    context = DataContext.get_current().copy()
    context.execution_no_progress_timeout_s = SLOW_SECONDS / 4
    with DataContext.current(context):
        yield context


def test_a_dataset_has_the_settings_of_a_sweep_and_the_process_keeps_its_own(impatient):
    from pipelines.solve.streaming import one_row_blocks

    before = impatient.target_max_block_size
    dataset = one_row_blocks(pa.table({"shard": ["a", "b"]}))
    for made in (dataset, dataset.map_batches(lambda batch: batch)):
        assert made.context.execution_no_progress_timeout_s == -1
        assert made.context.target_max_block_size is None
        assert made.context.raise_original_map_exception
        assert not made.context.enable_progress_bars
    assert DataContext.get_current() is impatient
    assert impatient.execution_no_progress_timeout_s == SLOW_SECONDS / 4
    assert impatient.target_max_block_size == before


def test_nothing_is_kept_of_a_block_that_went_through(local_ray, monkeypatch):
    from pipelines.solve import streaming

    kept = []

    def count(self, executor):
        statistics = [blocks for operator in executor._topology for blocks in operator.get_stats().values()]
        kept.append((len(statistics), sum(map(len, statistics))))

    monkeypatch.setattr(streaming._WithoutStatistics, "after_execution_succeeds", count)
    dataset = streaming.one_row_blocks(pa.table({"shard": [str(place) for place in range(60)]}))
    through = dataset.map_batches(lambda batch: batch, batch_size=1, batch_format="pyarrow")
    assert len(list(streaming._run(through))) == 60
    ((operators, blocks),) = kept
    assert operators >= 1
    assert blocks < 60


@pytest.fixture
def sweep(local_ray, small_manifest, tiny_prior, tmp_path):
    """Runs a sweep of one image by a solver in trouble."""

    def start(solver, output=tmp_path / "o"):
        values = specification(small_manifest, tiny_prior, output, grid={"cross": {"eta_kl": [0.1]}})
        values["solver"]["method"] = f"tests.pipelines.solve.troubled_methods:{solver}"
        return run("sweep", write_spec(tmp_path / "spec.yaml", values | {"select": {"limit": 1}}))

    return start


def test_a_batch_may_outlast_the_limit_on_silence(impatient, sweep, capsys):
    assert sweep("Slow") == 0, capsys.readouterr().err


def last_words(capsys):
    return capsys.readouterr().err.splitlines()[-1]


def test_a_disk_that_fills_under_a_worker_is_one_sentence(sweep, tmp_path, capsys):
    assert sweep("FillsTheDisk") == 2
    sentence = last_words(capsys)
    assert sentence.startswith(f"g2d2 sweep: store {tmp_path / 'o'}/")
    assert sentence.endswith(": no space is left; free some or choose another place.")


def test_a_disk_that_is_full_before_the_work_is_one_sentence(sweep, capsys, monkeypatch):
    monkeypatch.setattr(os, "fsync", no_space)
    assert sweep("Slow") == 2
    assert "no space is left; free some or choose another place." in last_words(capsys)


@pytest.mark.parametrize(
    ("option", "reason"), [("size=64k", "no space is left"), ("ro", "the file system is read-only")]
)
def test_real_disks_without_room(sweep, tmp_path, capsys, option, reason):
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", option, "tmpfs", str(disk)], capture_output=True).returncode:
        pytest.skip("mounting is not allowed here")
    try:
        if option != "ro":
            (disk / "other").write_bytes(bytes(56 * 1024))
        assert sweep("Slow", disk / "o") == 2
    finally:
        subprocess.run(["umount", str(disk)], check=True)
    assert reason in last_words(capsys)
