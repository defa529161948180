"""Paths in a specification: how a job on other machines names them, and which only this machine has."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from g2d2.priors.catalog import CATALOG
from g2d2.priors.sized_sources import split_size
from operators.local_paths import local_path
from operators.store_urls import parse_url
from pipelines.plan.named_modules import is_module_name
from pipelines.plan.spec_values import Keys, dotted, single_values, with_values
from pipelines.plan.sweep_spec import SweepSpec

_SQLITE = "sqlite:///"
_REMEDIES = {
    "manifest": "give an s3:// URL, send it along with --include",
    "output": "give an s3:// URL",
    "prior": "give a known name or hub id, send it along with --include",
    "uri": "give an http:// server",
}
"""What to do about a path, by the last of the keys that lead to it."""


def place_paths(spec: SweepSpec, included: Mapping[str, Path]) -> SweepSpec:
    """The specification for the cluster: inputs that travel by their name in the package, other paths in full."""

    def placed(keys: Keys, value: Any) -> Any:
        if keys in (("manifest",), ("output",)):
            full = parse_url(value).url
            return full if keys == ("output",) else _travelling(full, included)
        if keys[-1] == "prior" and isinstance(value, str) and names_folder(value):
            folder, suffix = _sized(value)
            return _travelling(str(local_path(folder, "prior").absolute()), included) + suffix
        if keys == ("tracking", "uri") and isinstance(value, str) and value.startswith(_SQLITE):
            return _SQLITE + str(Path(value.removeprefix(_SQLITE)).absolute())
        return value

    return SweepSpec.model_validate(with_values(spec.model_dump(mode="json"), placed))


def local_paths(spec: SweepSpec) -> dict[str, str]:
    """Paths of a placed specification that exist on this machine alone, by their keys."""
    values = {keys: value for keys, value in single_values(spec.model_dump(mode="json")) if keys[-1] in _REMEDIES}
    return {dotted(keys): value for keys, value in values.items() if str(value).startswith(("/", _SQLITE))}


def remedy(key: str) -> str:
    """What to give instead of a path of this machine, as the middle of a sentence."""
    return _REMEDIES[key.rpartition(".")[2]]


def names_folder(prior: str) -> bool:
    """Whether a specification's prior is a path, not a known name, a hub id or `module:thing`."""
    prior, _ = _sized(prior)
    if prior in CATALOG or is_module_name(prior):
        return False
    return prior.startswith((".", "/", "~")) or Path(prior).is_dir() or prior.count("/") != 1


def _sized(prior: str) -> tuple[str, str]:
    """A prior alone, and the `@256` behind it; a folder may be called so too."""
    source = prior if Path(prior).is_dir() else split_size(prior)[0]
    return source, prior[len(source) :]


def _travelling(path: str, included: Mapping[str, Path]) -> str:
    if not path.startswith("/"):
        return path
    local = Path(os.path.normpath(path))  # what is included is written without `..` too
    for name, source in included.items():
        if local.is_relative_to(source):
            return (Path(name) / local.relative_to(source)).as_posix()
    return path
