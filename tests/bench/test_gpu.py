"""The bench that people with a GPU run, here on a CPU at a tiny size."""

import json

from bench.gpu import PAPER, main

TINY = ["--shape", "tiny", "--device", "cpu", "--batches", "1", "2", "--rounds", "1", "--ways", "eager", "bf16"]


def measured(folder):
    assert main([*TINY, "--out", str(folder / "gpu.json")]) == 0
    return json.loads((folder / "gpu.json").read_text())


def test_every_way_and_batch_has_its_seconds(tmp_path):
    result = measured(tmp_path)
    rows = result["rows"]
    assert [(row["way"], row["batch"]) for row in rows] == [("eager", 1), ("eager", 2), ("bf16", 1), ("bf16", 2)]
    for row in rows:
        assert row["error"] is None
        assert 0 < row["low"] <= row["seconds_per_image"] <= row["high"]
        assert row["times_faster_than_paper"] is None  # that is told of the paper's shape alone
    assert set(result["correctness"].values()) == {0.0}  # a CPU against itself
    assert result["paper"] == PAPER


def test_a_way_that_fails_says_why_and_the_others_go_on(tmp_path, monkeypatch):
    def refuse(*_):
        raise RuntimeError("no such thing here")

    monkeypatch.setattr("bench.gpu._unit_seconds", refuse)
    errors = [(row["way"], row["batch"], row["error"]) for row in measured(tmp_path)["rows"]]
    assert errors == [(way, 1, "RuntimeError: no such thing here") for way in ("eager", "bf16")]
