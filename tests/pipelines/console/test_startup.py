"""What a command imports before it does anything: libraries that take seconds stay out where they are not needed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pipelines.plan.sweep_spec import load_spec
from tests.pipelines.nightly.hand_solved import HandSolved
from tests.pipelines.sweep_cases import specification, write_spec

ROOT = Path(__file__).parents[3]
HEAVY = {"torch", "ray", "mlflow", "diffusers", "transformers", "matplotlib", "scipy"}
CODE = """
import contextlib, json, sys
from pipelines import cli
with contextlib.redirect_stdout(None), contextlib.suppress(SystemExit):
    cli.main(sys.argv[1:])
print(json.dumps(sorted(sys.modules)))
"""


def loaded(*words):
    """Modules that are there after a command, by the first part of their names."""
    done = subprocess.run(
        [sys.executable, "-c", CODE, *map(str, words)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return {name.partition(".")[0] for name in json.loads(done.stdout)}


def test_the_list_of_commands_needs_no_library():
    assert not loaded("--help") & (HEAVY | {"pydantic", "pyarrow", "numpy", "yaml"})


def test_the_status_of_a_sweep_is_read_with_arrow_alone(small_manifest, tiny_prior, tmp_path):
    spec = write_spec(tmp_path / "spec.yaml", specification(small_manifest, tiny_prior, tmp_path / "out"))
    HandSolved(failed={("star", 0)})(load_spec(spec))
    for words in (("status", tmp_path / "out"), ("status", spec), ("status", tmp_path / "nothing")):
        modules = loaded(*words)
        assert "pyarrow" in modules
        assert not modules & HEAVY


def test_completion_asks_every_command_for_its_options_without_models():
    modules = loaded("completion", "bash")
    assert "shtab" in modules
    assert not modules & {"ray", "mlflow", "diffusers", "transformers", "matplotlib"}


@pytest.mark.parametrize("words", [("measure", "--help"), ("prior", "list")])
def test_names_of_operators_tasks_and_priors_need_no_models(words):
    assert not loaded(*words) & (HEAVY - {"torch"})
