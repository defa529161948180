"""The bench of methods on a pixel prior runs, with deepinv's side or without it."""

import pytest

from bench import continuous, deepinv_methods
from bench.one import measure
from bench.registry import Effort


@pytest.mark.parametrize("installed", [False, True])
def test_quick_run(installed, tmp_path, capsys, monkeypatch):
    if installed and not deepinv_methods.available():
        pytest.skip("deepinv is not installed")
    monkeypatch.setattr(deepinv_methods, "available", lambda: installed)
    rows = measure("continuous", continuous.run, Effort("quick", 1), tmp_path).rows
    assert [row["method"] for row in rows[::2]] == list(continuous.METHODS)
    measured = {row["method"] for row in rows if row["deepinv_s_per_image"] is not None}
    assert measured == (set(continuous.SHARED) if installed else set())
    assert ("deepinv is not installed" in capsys.readouterr().out) != installed
