"""What `pip install` brings: the five packages with their data, and nothing that only development needs."""

import ast
import shutil
import subprocess
import sys
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("operators", "g2d2", "eval", "pipelines", "cluster")
LEFT_OUT = ("__pycache__", "*.pyc", ".*")
DEVELOPMENT = {"pytest", "hypothesis", "bench", "tests", "docs"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Built from a copy: a build leaves folders behind, and takes along what an earlier one left."""
    source, built = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("built")
    for name in PACKAGES:
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns(*LEFT_OUT))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    words = ["wheel", "--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--wheel-dir", str(built), "."]
    done = subprocess.run([sys.executable, "-m", "pip", *words], cwd=source, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (file,) = built.glob("*.whl")
    with zipfile.ZipFile(file) as archive:
        yield archive


def test_every_file_of_the_packages_is_in_it_and_no_other(wheel):
    ignored = shutil.ignore_patterns(*LEFT_OUT)
    there = {
        str(path.relative_to(ROOT))
        for name in PACKAGES
        for path in (ROOT / name).rglob("*")
        if path.is_file() and not any(ignored("", path.relative_to(ROOT).parts))
    }
    inside = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert inside - there == set()
    assert there - inside == set(), "name these in package-data of pyproject.toml"


@pytest.mark.parametrize(
    "name",
    ["g2d2/priors/embedded/cifar10-vq/model_index.json", "eval/paper/tables.csv", "pipelines/demo.yaml",
     "cluster/values.yaml", "cluster/Containerfile", "operators/py.typed"],
)  # fmt: skip
def test_data_is_in_it(wheel, name):
    assert name in wheel.namelist()


def test_nothing_in_it_is_for_development_alone(wheel):
    for name in wheel.namelist():
        parts = {part.partition(".")[0] for part in Path(name).parts}
        assert not parts & {"tests", "bench", "docs", "conftest"}, name
        if name.endswith(".py"):
            nodes = list(ast.walk(ast.parse(wheel.read(name))))
            modules = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
            modules |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
            assert not {module.partition(".")[0] for module in modules} & DEVELOPMENT, name


def test_its_command_and_extras(wheel):
    (folder,) = {name.partition("/")[0] for name in wheel.namelist() if ".dist-info/" in name}
    assert "g2d2 = pipelines.cli:main" in wheel.read(f"{folder}/entry_points.txt").decode()
    metadata = message_from_bytes(wheel.read(f"{folder}/METADATA"))
    assert sorted(metadata.get_all("Provides-Extra")) == ["agreement", "dev", "services"]
    assert any(line.startswith("ray[") for line in metadata.get_all("Requires-Dist"))
