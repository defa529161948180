"""One of something is not told as several."""

import pytest

from pipelines.plan.sweep_spec import load_spec
from tests.pipelines.nightly.hand_solved import HandSolved
from tests.pipelines.sweep_cases import build_manifest, run, specification, write_spec


@pytest.fixture
def one_item(tmp_path, tiny_prior):
    """A specification of one measurement in one cell."""
    manifest = build_manifest(tmp_path, pictures=1)
    return write_spec(tmp_path / "s.yaml", specification(manifest, tiny_prior, tmp_path / "out", grid={}))


def test_commands_count_one_as_one(one_item, tmp_path, capsys):
    assert run("plan", one_item, "--no-calibration") == 0
    printed = capsys.readouterr().out
    assert "1 cell (nothing varies), 1 measurement\n1 work item in 1 shard, 0 of them done" in printed
    HandSolved()(load_spec(one_item))
    assert run("status", tmp_path / "out") == 0
    assert run("manifest", "check", tmp_path / "manifest") == 0
    printed = capsys.readouterr().out
    assert "1 of 1 work item scored" in printed
    assert "1 measurement, all whole" in printed
