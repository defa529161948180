"""The packages of this project, which travel with a job unless the cluster has them installed."""

from importlib.util import find_spec
from pathlib import Path

PROJECT = ("cluster", "eval", "g2d2", "operators", "pipelines")
"""Their data, as the embedded priors, lies inside."""


def project_sources() -> dict[str, Path]:
    """The folder of every package by its name."""
    return {name: _folder(name) for name in PROJECT}


def _folder(name: str) -> Path:
    spec = find_spec(name)
    assert spec is not None
    assert spec.submodule_search_locations
    return Path(spec.submodule_search_locations[0]).absolute()
