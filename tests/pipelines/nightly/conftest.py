"""The planted fault of the night, which solvers ask for."""

import pytest


@pytest.fixture
def plant(local_ray):
    """Call it with a fault, or with None."""
    from tests.pipelines.nightly.plants import NAME, Plant

    actor = Plant.options(name=NAME).remote()
    yield lambda fault: local_ray.get(actor.set.remote(fault))
    local_ray.kill(actor)
