"""The bench that people with a GPU run, here on a CPU at a tiny size."""

import json
import subprocess

import pytest
import torch

from bench import gpu_row
from bench.gpu import PAPER, in_own_process, main
from bench.gpu_row import SHAPES, WAYS, answer, measured_row

TINY = ["--shape", "tiny", "--device", "cpu", "--batches", "1", "2", "--rounds", "1", "--ways", "eager", "bf16"]
CPU = torch.device("cpu")


def measured(folder, run=answer):
    """In this process, which is quicker."""
    code = main([*TINY, "--out", str(folder / "gpu.json")], run)
    return code, json.loads((folder / "gpu.json").read_text())


def test_every_way_and_batch_has_its_seconds(tmp_path):
    code, result = measured(tmp_path)
    rows = result["rows"]
    assert code == 0
    assert [(row["way"], row["batch"]) for row in rows] == [("eager", 1), ("eager", 2), ("bf16", 1), ("bf16", 2)]
    for row in rows:
        assert row["error"] is None
        assert 0 < row["low"] <= row["seconds_per_image"] <= row["high"]
        assert row["times_faster_than_paper"] is None  # that is told of the paper's shape alone
        assert len(row["from_eager"]) == 3
        for far in row["from_eager"].values():
            assert (far == 0) if row["way"] == "eager" else (0 < far < 0.2)
    assert set(result["correctness"].values()) == {0.0}  # a CPU against itself
    assert result["paper"] == PAPER


def test_a_batch_for_which_the_plain_networks_have_no_room_is_measured_all_the_same(monkeypatch):
    real = gpu_row.ask

    def ask(prior, rows):
        if prior.network_dtype == torch.float32:
            raise torch.OutOfMemoryError("full")
        return real(prior, rows)

    monkeypatch.setattr(gpu_row, "ask", ask)
    row = measured_row(SHAPES["tiny"], WAYS["bf16"], CPU, 2, rounds=1)
    assert row["seconds_per_image"] > 0
    assert row["error"] is row["from_eager"] is None


def test_a_cpu_has_no_graphs_to_measure():
    row = measured_row(SHAPES["tiny"], WAYS["graphs"], CPU, 1, rounds=1)
    assert row["error"] == "InputError: compile: graphs needs a GPU; allowed here: true, false."


def test_a_way_that_fails_says_why_and_the_others_go_on(tmp_path, monkeypatch):
    def refuse(*_):
        raise RuntimeError("no such thing here")

    monkeypatch.setattr(gpu_row, "_unit_seconds", refuse)
    _, result = measured(tmp_path)
    errors = [(row["way"], row["batch"], row["error"]) for row in result["rows"]]
    assert errors == [(way, 1, "RuntimeError: no such thing here") for way in ("eager", "bf16")]


def test_a_device_that_answers_otherwise_costs_no_row(tmp_path, monkeypatch):
    def refuse(*_):
        raise RuntimeError("no such device")

    monkeypatch.setattr(gpu_row, "against_cpu", refuse)
    _, result = measured(tmp_path)
    assert result["correctness"] == {"error": "RuntimeError: no such device"}
    assert len(result["rows"]) == 4


def test_correctness_comes_first_and_an_interruption_keeps_what_was_measured(tmp_path):
    asked = []

    def run(words):
        asked.append(words[0])
        if len(asked) == 4:
            raise KeyboardInterrupt
        return {"correctness": {}, "device": "one"} if words[0] == "facts" else {"error": None}

    code, result = measured(tmp_path, run)
    assert (code, asked) == (130, ["facts", "tiny", "tiny", "tiny"])
    assert [(row["way"], row["batch"]) for row in result["rows"]] == [("eager", 1), ("eager", 2)]
    assert result["device"] == "one"


def test_the_file_is_there_after_every_row(tmp_path):
    seen = []

    def run(words):
        path = tmp_path / "gpu.json"
        seen.append(len(json.loads(path.read_text())["rows"]) if path.exists() else None)
        return {"correctness": {}, "device": "one"} if words[0] == "facts" else {"error": None}

    measured(tmp_path, run)
    assert seen == [None, 0, 1, 2, 3]


def test_how_a_process_ended_is_the_reason_of_its_row(monkeypatch):
    def died(command, **_):
        return subprocess.CompletedProcess(command, -9, "", "first line\nout of memory")

    monkeypatch.setattr(subprocess, "run", died)
    assert in_own_process(["facts", "cpu"]) == {"error": "its process ended with -9: out of memory"}


@pytest.mark.slow
def test_a_row_is_measured_in_a_process_of_its_own():
    row = in_own_process(["tiny", "eager", "cpu", "2", "1"])
    assert row["error"] is None
    assert row["seconds_per_image"] > 0


def test_while_it_is_timed_nothing_may_be_compiled_anew(monkeypatch):
    seen, config = [], torch._dynamo.config

    def look(*_):
        seen.append(config.error_on_recompile)
        return [0.1, 0.1], 1

    monkeypatch.setattr(gpu_row, "_unit_seconds", look)
    assert measured_row(SHAPES["tiny"], WAYS["eager"], CPU, 1, rounds=2)["error"] is None
    assert seen == [False, True, True]


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_compiled_networks_are_not_compiled_again_in_the_timed_rounds():
    row = measured_row(SHAPES["tiny"], WAYS["compiled"], CPU, 2, rounds=1)
    assert row["error"] is None
    assert row["seconds_per_image"] > 0
