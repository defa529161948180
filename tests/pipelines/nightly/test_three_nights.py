"""Nights by the command, on a real Ray, solved for real: the first, an unchanged one, a broken one, a flaky one."""

import json
import xml.etree.ElementTree as xml

import pytest
import torch

from pipelines.nightly.calibrating import read_device
from tests.pipelines.nightly.night_cases import tiny_nightly
from tests.pipelines.sweep_cases import run


@pytest.fixture
def house(plant, tiny_prior, tmp_path, capsys):
    """A specification, and a function that runs a night of it with a fault: exit code and what was printed."""
    path = tiny_nightly(tmp_path, tiny_prior)

    def night(name, fault, *words):
        plant(fault)
        capsys.readouterr()
        code = run("nightly", path, "--night", name, *words)
        return code, capsys.readouterr().out

    return path, night


@pytest.mark.slow
def test_accept_an_unchanged_night_passes_a_wrong_gamma_is_caught_and_named(house, tmp_path, monkeypatch):
    # fresh workers would take longer than all three nights; the slow tests calibrate on them
    monkeypatch.setattr("pipelines.nightly.night.calibrate", lambda _: [read_device(torch.device("cpu"))])
    path, night = house
    code, out = night("n1", None)
    assert code == 0
    assert out.splitlines()[-2] == "no baseline: nothing was compared"
    assert f'g2d2 nightly accept {path} --night n1 --reason "first night"' in out
    assert run("nightly", "accept", path, "--night", "n1", "--reason", "looks right", "--by", "ada") == 0

    code, out = night("n2", None)
    assert code == 0
    assert out.splitlines()[-2] == "passed: 1 unchanged"
    assert "baseline 1: night n1" in out
    code, out = night("n2", "gamma")  # the same night again goes on where it was, and there is nothing left to solve
    assert code == 0
    assert "nothing was solved" in out

    junit, summary = tmp_path / "ci" / "junit.xml", tmp_path / "ci" / "summary.md"
    code, out = night("n3", "gamma", "--junit", junit, "--markdown", summary)
    assert code == 1
    assert out.splitlines()[-2] == "failed: 1 regressed"
    failure = xml.parse(junit).getroot().find(".//failure")
    assert failure.get("message").startswith("psnr of gaussian_blur, Planted is regressed: ")
    assert "| regressed | psnr |" in summary.read_text()
    kept = tmp_path / "out" / "history" / "n3"
    assert {file.name for file in kept.iterdir()} >= {"night.json", "verdict.json", "scores.parquet", "report.html"}
    assert "Nightly: n3" in (kept / "report.html").read_text()


@pytest.mark.slow
def test_a_flaky_night_passes_and_one_without_results_does_not(house, capsys):
    path, night = house
    assert night("n1", None)[0] == 0
    assert run("nightly", "accept", path, "--reason", "looks right", "--by", "ada") == 0
    code, out = night("n2", "seeds", "--json")
    facts = json.loads(out)
    assert code == 0
    assert facts["headline"] == "not decided: 1 undecided"
    assert len(facts["night"]["calibration"]) == 2
    assert facts["night"]["cells"][0]["levels"]["speed"]["mean"] > 0

    code, out = night("n3", "crash")
    assert code == 2  # no row is there to be compared
    assert "24 of 24 items of the candidate failed" in out
    assert run("nightly", "accept", path, "--night", "n3", "--reason", "no") == 2
    assert "only a whole night can be accepted" in capsys.readouterr().err
    assert run("nightly", "history", path) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:4]] == ["n1", "n2", "n3"]
    assert lines[4].startswith("baseline 1: night n1")
    assert lines[4].endswith("ada: looks right")
