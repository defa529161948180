"""Ray Data's settings reach the datasets of a sweep, and no others; a worker's own sentence comes through."""

import pyarrow as pa
import pytest
from ray.data import DataContext

from tests.pipelines.sweep_cases import run, specification, write_spec
from tests.pipelines.troubled_solvers import SLOW_SECONDS


@pytest.fixture
def impatient(local_ray):
    """A process whose own datasets may not rest for as long as the slow solver does."""
    context = DataContext.get_current().copy()
    context.execution_no_progress_timeout_s = SLOW_SECONDS / 4
    with DataContext.current(context):
        yield context


def test_a_dataset_has_the_settings_of_a_sweep_and_the_process_keeps_its_own(impatient):
    from pipelines.streaming import one_row_blocks

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


def test_a_batch_may_outlast_the_limit_on_silence(impatient, small_manifest, tiny_prior, tmp_path, capsys):
    values = specification(small_manifest, tiny_prior, tmp_path / "o", grid={"cross": {"eta_kl": [0.1]}})
    values["solver"]["method"] = "tests.pipelines.troubled_solvers:slow"
    code = run("sweep", write_spec(tmp_path / "spec.yaml", values | {"select": {"limit": 1}}))
    assert code == 0, capsys.readouterr().err
