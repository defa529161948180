"""Shared by all tests: tiny tensors run fastest on one thread, and stay fast on a busy machine."""

import os
import secrets
import signal
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
# Ray reads its mode once, when it is imported: here, before a test changes the environment and imports it.
os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}

import pytest
import ray
import torch

ROOT = Path(__file__).parents[1]

torch.set_num_threads(1)
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts what runs in the background deaf to Ctrl-C


@pytest.fixture(scope="session")
def tiny_prior(tmp_path_factory):
    """The folder of a prior of 8x8 images with random weights."""
    from g2d2.priors.vq_diffusion.random_weights import TINY, random_components

    folder = tmp_path_factory.mktemp("tiny-prior")
    random_components(TINY).save(folder)
    return folder


@pytest.fixture(scope="session")
def local_ray():
    """Ray in this process, with two counted GPUs and four counted cores; workers find the repository's own modules."""
    before = dict(os.environ)
    os.environ |= {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
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


pytest_plugins = ["tests.services.service_fixtures"]
