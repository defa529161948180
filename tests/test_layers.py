"""Imports point one way, and the lower layers know nothing of clusters, trackers or object stores."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
OUTSIDE = {"ray", "mlflow", "s3fs", "boto3", "botocore"}
FORBIDDEN = {
    "operators": {"g2d2", "eval", "pipelines", "cluster"} | OUTSIDE,
    "g2d2": {"eval", "pipelines", "cluster"} | OUTSIDE,
    "eval": {"pipelines", "cluster"} | OUTSIDE,
    "cluster": {"pipelines", "eval", "g2d2"},
}
USERS_OF_CLUSTER = {"commands", "doctor"}
"""Rooms of pipelines."""


def imported(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.partition(".")[0]


@pytest.mark.parametrize("layer", FORBIDDEN)
def test_layer_imports_nothing_above_it(layer):
    files = list((ROOT / layer).rglob("*.py"))
    assert files
    wrong = {str(file.relative_to(ROOT)): names for file in files if (names := FORBIDDEN[layer] & set(imported(file)))}
    assert not wrong


def test_only_commands_and_the_doctor_know_of_clusters():
    users = {file.relative_to(ROOT / "pipelines") for file in (ROOT / "pipelines").rglob("*.py")
             if "cluster" in imported(file)}  # fmt: skip
    assert {user.parts[0] for user in users} == USERS_OF_CLUSTER


def python(code):
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, env=environment)


@pytest.mark.parametrize("package", ["g2d2", "eval"])
def test_torchvision_imports_in_a_fresh_process(package):
    done = python(f"import {package}, torchvision, lpips; from torchvision.models import vgg16; print(vgg16.__name__)")
    assert done.stdout.strip() == "vgg16", done.stderr


def test_torchvision_imports_in_a_spawned_worker(tmp_path):
    code = """
import multiprocessing as m
def work(_):
    import g2d2, torchvision
    return torchvision.__version__
if __name__ == "__main__":
    with m.get_context("spawn").Pool(1) as pool: print(pool.map(work, [0])[0])
"""
    script = tmp_path / "worker.py"
    script.write_text(code)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip(), done.stderr


def test_the_guard_touches_nothing_where_torchvision_loads_by_itself(monkeypatch):
    import torch

    from operators import torchvision_guard

    monkeypatch.setattr(torchvision_guard, "_library", None)
    monkeypatch.setattr(torchvision_guard, "_loads", lambda path: True)
    monkeypatch.setattr(torch.ops, "torchvision", object(), raising=False)
    assert torchvision_guard.ensure_torchvision_imports() is False
    assert torchvision_guard._library is None
