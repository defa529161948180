"""Python modules of the user's own that travel with a job: where they lie, and which beside them they import."""

import ast
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from importlib.machinery import ModuleSpec, PathFinder, all_suffixes
from importlib.util import find_spec
from pathlib import Path

from cluster.jobs.project import PROJECT
from operators import InputError
from operators.extensions import FOLDER_VARIABLE, own_modules


def own_sources(modules: Mapping[str, str]) -> dict[str, Path]:
    """Files and folders by their name in a package, for modules such as `my_package.solver` with where each is named.

    A module brings those that it imports from the folder it lies in. Installed ones stay: the cluster must have them.
    An InputError names a module that does not exist.
    """
    sources: dict[str, Path] = {}
    for module, where in modules.items():
        place = _located(module, where)
        if place is not None:
            _add(place, sources)
    return sources


def _located(module: str, where: str) -> Path | None:
    """The file or folder of a module's first part; None for one that is installed or a part of this project."""
    first, *parts = module.split(".")
    if first in PROJECT:
        return None
    folder = own_modules()
    spec = _find(first, folder)
    if spec is None:
        raise InputError(
            f"{where}: the module {module!r} cannot be found on Python's path nor in {folder}; put it there, or name "
            f"its folder in {FOLDER_VARIABLE}."
        )
    place = _place(spec)
    if place is None or _installed(place):
        return None
    if not _holds(place, parts):
        raise InputError(f"{where}: the module {module!r} cannot be found in {place}; correct its name.")
    return place


def _find(name: str, folder: str) -> ModuleSpec | None:
    """As an import would: on Python's path, and last in this folder; a module of one part is not run for it."""
    try:
        spec = find_spec(name)
    except ValueError:  # it is loaded, and does not say from where
        spec = None
    return spec or PathFinder.find_spec(name, [folder])


def _place(spec: ModuleSpec) -> Path | None:
    """The folder of a package, the file of a module; None where it is neither, as a part of Python itself."""
    if spec.submodule_search_locations:
        return Path(next(iter(spec.submodule_search_locations))).absolute()
    return Path(spec.origin).absolute() if spec.has_location and spec.origin else None


def _installed(place: Path) -> bool:
    return any(place.is_relative_to(sysconfig.get_path(name)) for name in ("purelib", "platlib", "stdlib"))


def _holds(place: Path, parts: list[str]) -> bool:
    """Whether a package has these modules inside it, each in the one before."""
    for part in parts:
        inside = [place / part, *(place / f"{part}{suffix}" for suffix in all_suffixes())]
        place = next((path for path in inside if path.exists()), inside[0])
    return place.exists()


def _add(place: Path, sources: dict[str, Path]) -> None:
    """A module with all that it imports, at any depth, from the folder it lies in."""
    if place.name in sources:
        return
    sources[place.name] = place
    for name in sorted({*_imported(place)} - {*PROJECT} - sys.stdlib_module_names):
        spec = _find(name, str(place.parent))
        beside = None if spec is None else _place(spec)
        if beside is not None and beside.parent == place.parent and not _installed(beside):
            _add(beside, sources)


def _imported(place: Path) -> Iterator[str]:
    """First parts of the modules that a file, or any file of a package, imports by their full names."""
    for file in [place] if place.is_file() else sorted(place.rglob("*.py")):
        try:
            tree = ast.parse(file.read_bytes())
        except (SyntaxError, ValueError):  # who loads it hears of it
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                yield from (alias.name.partition(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                yield node.module.partition(".")[0]
