"""Damaged files in an output: one sentence, which names the file."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from operators.validation import validate
from pipelines.plan.sweep_spec import SweepSpec
from pipelines.storage.sweep_folder import SweepFolder
from tests.pipelines.nightly.hand_solved import HandSolved
from tests.pipelines.sweep_cases import run, specification, write_spec


@pytest.fixture
def sweep(small_manifest, tiny_prior, tmp_path):
    values = specification(small_manifest, tiny_prior, tmp_path / "o")
    write_spec(tmp_path / "spec.yaml", values)
    HandSolved()(validate(SweepSpec, values, where="specification"))
    return tmp_path / "o"


def spoil(file, how):
    """Cut off, overwritten in the middle where the pages are, or another table altogether."""
    content = bytearray(file.read_bytes())
    if how == "cut":
        content = content[: len(content) // 2]
    elif how == "overwritten":
        content[4 : len(content) // 3] = bytes(len(content) // 3 - 4)
    else:
        pq.write_table(pa.table({"x": [1]}), file)
        return
    file.write_bytes(content)


def refused(file, capsys, *words):
    capsys.readouterr()
    assert run(*words) == 2
    error = capsys.readouterr().err
    assert str(file) in error
    assert "it is damaged" in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("how", ["cut", "overwritten", "another"])
def test_damaged_parquet_is_named(how, sweep, tmp_path, capsys):
    folder = SweepFolder(str(sweep))
    plan = folder.read_summary()["plan"]
    readers = {
        folder.plan_name(plan): ["status", "report", "track"],
        folder.cells_name(plan): ["status", "report", "track"],
        folder.store.list("scores/")[0]: ["status", "report"],
        folder.store.list("solved/")[0]: ["report"],
    }
    for name in folder.store.list("results/"):
        folder.store.delete(name)
    for name, commands in readers.items():
        file = Path(folder.store.url(name))
        whole = file.read_bytes()
        spoil(file, how)
        for command in commands:
            refused(file, capsys, command, sweep)
        file.write_bytes(whole)


def test_what_is_whole_is_still_told(sweep, capsys):
    assert run("status", sweep, "--json") == 0
    assert json.loads(capsys.readouterr().out)["scored"] == 24
