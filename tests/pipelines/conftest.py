"""A Ray of its own for the tests of the pipeline: two counted GPUs, four counted cores, nothing left in the home."""

import os
from pathlib import Path

import pytest

from tests.pipelines.sweep_cases import build_manifest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def local_ray():
    """Ray in this process; workers find the repository's own modules."""
    before = dict(os.environ)
    os.environ |= {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    import ray

    ray.init(
        address="local",
        num_cpus=4,
        num_gpus=2,
        include_dashboard=False,
        log_to_driver=False,
        logging_level="error",
        object_store_memory=200 * 2**20,
    )
    yield ray
    ray.shutdown()
    os.environ.clear()
    os.environ |= before


@pytest.fixture(scope="session")
def small_manifest(tmp_path_factory):
    return build_manifest(tmp_path_factory.mktemp("small"))
