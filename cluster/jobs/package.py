"""What travels to the cluster: the project's code, the specification and what was asked for, as one zip file."""

import os
import sysconfig
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

import yaml

from g2d2.solvers import SOLVERS
from operators import InputError
from operators.local_paths import local_path
from pipelines.spec import SweepSpec

PROJECT = ("cluster", "eval", "g2d2", "operators", "pipelines")
"""The packages of this project; their data, as the embedded prior, lies inside."""
LIMIT = 100 * 2**20
"""Bytes that Ray's dashboard accepts in one upload."""
_LEFT_OUT = {"__pycache__", "venv", "node_modules"}
_NAMED_IN_REFUSAL = 5


def contents(spec: SweepSpec, included: Mapping[str, Path], installed: bool) -> dict[str, Path]:
    """Files by their name in the package; `installed` leaves out the project, which the cluster has then."""
    files: dict[str, Path] = {}
    sources = dict(included)
    own = own_package(spec.solver.method)
    if own is not None:
        sources.setdefault(own.name, own)
    if not installed:
        sources |= {name: _located(name) for name in PROJECT}
    for name, source in sources.items():
        for path in _files(source):
            files[name if path == source else f"{name}/{path.relative_to(source).as_posix()}"] = path
    return files


def own_package(method: str) -> Path | None:
    """The folder or file of a solver of one's own, unless it is installed or a part of the project."""
    top = SOLVERS.get(method, method).partition(":")[0].partition(".")[0]
    if top in PROJECT:
        return None
    place = _located(top)
    installed = any(place.is_relative_to(sysconfig.get_path(name)) for name in ("purelib", "platlib", "stdlib"))
    return None if installed else place


def place_included(paths: Sequence[Path]) -> dict[str, Path]:
    """Each path under its name from here, or its last part when it lies elsewhere."""
    here = Path.cwd()
    placed: dict[str, Path] = {}
    for path in paths:
        source = local_path(path, "include").absolute()
        if not source.exists():
            raise InputError(f"--include: {path} does not exist.")
        source = Path(os.path.normpath(source))
        name = source.relative_to(here).as_posix() if source != here and source.is_relative_to(here) else source.name
        if name.partition("/")[0] in PROJECT or placed.get(name, source) != source:
            raise InputError(f"--include: {path} would take the place of {name!r} in the package; rename it.")
        placed[name] = source
    return placed


def write_package(target: Path, spec: SweepSpec, files: Mapping[str, Path]) -> str:
    """Write the zip file and return the specification's name in it; equal content gives equal bytes, uploaded once."""
    name = f"{spec.name}.yaml"
    if name in files:
        raise InputError(f"--include: {files[name]} has the name of the specification in the package; rename it.")
    text = yaml.safe_dump(spec.model_dump(mode="json"), sort_keys=False)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(_entry(name), text)
        for inside in sorted(files):
            archive.writestr(_entry(inside), files[inside].read_bytes())
    _check_size(target, files)
    return name


def _check_size(package: Path, files: Mapping[str, Path]) -> None:
    size = package.stat().st_size
    if size < LIMIT:
        return
    with zipfile.ZipFile(package) as archive:
        largest = sorted(archive.infolist(), key=lambda entry: entry.compress_size, reverse=True)[:_NAMED_IN_REFUSAL]
    told = ", ".join(f"{entry.filename} ({entry.compress_size / 2**20:.0f} MiB)" for entry in largest)
    raise InputError(
        f"package: it has {size / 2**20:.0f} MiB and Ray takes less than {LIMIT / 2**20:.0f}; the largest are {told}: "
        "put data on a store or a shared path instead, or install the package on the cluster and use --installed."
    )


def _entry(name: str) -> zipfile.ZipInfo:
    """Without the file's own time, which would make equal content look new."""
    entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
    return entry


def _files(source: Path) -> Iterator[Path]:
    """Hidden files stay here: `.git`, and whatever holds somebody's keys."""
    if source.is_file():
        yield source
        return
    for folder, folders, names in os.walk(source):
        folders[:] = sorted(name for name in folders if name not in _LEFT_OUT and not name.startswith("."))
        yield from (Path(folder) / name for name in sorted(names) if not name.startswith(".") and _wanted(name))


def _wanted(name: str) -> bool:
    return not name.endswith((".pyc", ".partial"))


def _located(name: str) -> Path:
    found = find_spec(name)
    if found is None or not (found.submodule_search_locations or found.origin):
        raise InputError(f"package: the module {name!r} cannot be found here; add its folder to PYTHONPATH.")
    places = list(found.submodule_search_locations or ())
    return Path(places[0] if places else str(found.origin)).absolute()
