"""What travels to the cluster: files and folders of this machine, and texts, as one zip file."""

import os
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from cluster.jobs.project import PROJECT
from operators import InputError
from operators.local_paths import local_path

LIMIT = 100 * 2**20
"""Bytes that Ray's dashboard accepts in one upload."""
_LEFT_OUT = {"__pycache__", "venv", "node_modules"}
_NAMED_IN_REFUSAL = 5


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


def contents(sources: Mapping[str, Path]) -> dict[str, Path]:
    """Every file of these files and folders by its name in the package."""
    return {
        name if path == source else f"{name}/{path.relative_to(source).as_posix()}": path
        for name, source in sources.items()
        for path in _files(source)
    }


def write_package(target: Path, texts: Mapping[str, str], files: Mapping[str, Path]) -> None:
    """Write the zip file; equal content gives equal bytes, which are uploaded once."""
    taken = next((name for name in texts if name in files), None)
    if taken is not None:
        raise InputError(f"--include: {files[taken]} would take the place of {taken!r} in the package; rename it.")
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in texts.items():
            archive.writestr(_entry(name), text)
        for name in sorted(files):
            archive.writestr(_entry(name), files[name].read_bytes())
    _check_size(target)


def _check_size(package: Path) -> None:
    size = package.stat().st_size
    if size < LIMIT:
        return
    with zipfile.ZipFile(package) as archive:
        largest = sorted(archive.infolist(), key=lambda entry: entry.compress_size, reverse=True)[:_NAMED_IN_REFUSAL]
    listed = ", ".join(f"{entry.filename} ({entry.compress_size / 2**20:.0f} MiB)" for entry in largest)
    raise InputError(
        f"package: it has {size / 2**20:.0f} MiB and Ray takes less than {LIMIT / 2**20:.0f}; the largest are "
        f"{listed}: put data on a store or a shared path instead, or install the package on the cluster and use "
        "--installed."
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
