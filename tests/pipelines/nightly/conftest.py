"""The planted fault of the night, which solvers ask for; nights that are filled by hand."""

import json

import pytest

from tests.pipelines.nightly.hand_solved import HandSolved
from tests.pipelines.nightly.night_cases import reading, tiny_nightly
from tests.pipelines.sweep_cases import run


@pytest.fixture
def plant(local_ray):
    """Call it with a fault, or with None."""
    from tests.pipelines.nightly.plants import NAME, Plant

    actor = Plant.options(name=NAME).remote()
    yield lambda fault: local_ray.get(actor.set.remote(fault))
    local_ray.kill(actor)


@pytest.fixture
def hand_solved(monkeypatch):
    """Nights solve nothing and need no Ray: what is in their folders is said here."""
    work = HandSolved()
    monkeypatch.setattr("pipelines.nightly.night.run_sweep", work)
    monkeypatch.setattr("pipelines.nightly.night.calibrate", lambda _: [reading(0.1)])
    return work


@pytest.fixture
def quick(hand_solved, tiny_prior, tmp_path, capsys):
    """A specification, and a function that runs a night of it by hand: exit code, and its JSON."""
    path = tiny_nightly(tmp_path, tiny_prior, pictures=6)

    def night(name, *words):
        capsys.readouterr()
        code = run("nightly", path, "--night", name, "--json", *words)
        return code, json.loads(capsys.readouterr().out)

    return path, night
