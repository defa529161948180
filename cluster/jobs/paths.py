"""Paths in a specification: what a job on other machines can still find, and what it cannot."""

import os
from collections.abc import Mapping
from pathlib import Path

from g2d2.priors.catalog import CATALOG
from operators import InputError
from operators.local_paths import local_path
from pipelines.spec import SweepSpec
from pipelines.storage import open_store

_SQLITE = "sqlite:///"


def place_paths(spec: SweepSpec, included: Mapping[str, Path]) -> SweepSpec:
    """The specification for the cluster: inputs that travel by their name in the package, other paths in full."""
    changes: dict[str, object] = {
        "manifest": _travelling(_full(spec.manifest), included),
        "output": _full(spec.output),
    }
    if names_folder(spec.prior):
        changes["prior"] = _travelling(str(local_path(spec.prior, "prior").absolute()), included)
    uri = spec.tracking.uri
    if uri is not None and uri.startswith(_SQLITE):
        full = _SQLITE + str(Path(uri.removeprefix(_SQLITE)).absolute())
        changes["tracking"] = spec.tracking.model_copy(update={"uri": full})
    return spec.model_copy(update=changes)


def local_paths(spec: SweepSpec) -> dict[str, str]:
    """Keys of a placed specification whose values are paths on this machine alone."""
    values = {"manifest": spec.manifest, "output": spec.output, "prior": spec.prior}
    found = {key: value for key, value in values.items() if value.startswith("/")}
    if (spec.tracking.uri or "").startswith(_SQLITE):
        found["tracking.uri"] = str(spec.tracking.uri)
    return found


def check_reach(spec: SweepSpec, hosts: set[str], here: str, url: str) -> None:
    """A path of this machine means nothing to others; an InputError names the first."""
    if hosts == {here}:
        return
    for key, value in local_paths(spec).items():
        sent = " send it along with --include," if key in ("manifest", "prior") else ""
        better = "an http:// server" if key == "tracking.uri" else "an s3:// URL"
        raise InputError(
            f"{key}: {value} is a path of this machine, and the cluster at {url} has others; give {better},{sent} "
            "or say --shared-paths if every machine of the cluster sees the same files there."
        )


def _full(url: str) -> str:
    """As the store itself would write it."""
    return open_store(url).url()


def names_folder(prior: str) -> bool:
    """Whether a specification's prior is a path, not a known name or hub id."""
    return prior not in CATALOG and (prior.startswith((".", "/", "~")) or Path(prior).is_dir() or prior.count("/") != 1)


def _travelling(path: str, included: Mapping[str, Path]) -> str:
    if not path.startswith("/"):
        return path
    local = Path(os.path.normpath(path))  # what is included is written without `..` too
    for name, source in included.items():
        if local.is_relative_to(source):
            return (Path(name) / local.relative_to(source)).as_posix()
    return path
