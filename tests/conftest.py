"""Shared by all tests: tiny tensors run fastest on one thread, and stay fast on a busy machine."""

import os
import secrets
import signal

os.environ.setdefault("OMP_NUM_THREADS", "1")
# Ray reads its mode once, when it is imported: here, before a test changes the environment and imports it.
os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}

import pytest
import ray  # noqa: F401
import torch

torch.set_num_threads(1)
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts what runs in the background deaf to Ctrl-C


@pytest.fixture(scope="session")
def tiny_prior(tmp_path_factory):
    """The folder of a prior of 8x8 images with random weights."""
    from g2d2.priors.random_weights import TINY, random_components

    folder = tmp_path_factory.mktemp("tiny-prior")
    random_components(TINY).save(folder)
    return folder


pytest_plugins = ["cluster.services.pytest_plugin"]
