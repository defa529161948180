"""A night that is not whole never reads as passed, whatever was compared: headline, outcome, summary, JUnit, report."""

import re
import xml.etree.ElementTree as xml

import pytest
import yaml

from tests.pipelines.nightly.hand_solved import change
from tests.pipelines.sweep_cases import run

BOTH = {"cross": {"process": ["star", "markov"]}}
FAILED = ({("markov", 1), ("markov", 4)}, set(), 1, "rows failed", "2 rows failed")
MISSING = (set(), {("markov", 1)}, 2, "not complete", "not complete: 11 of 12 work items committed")
BROKEN = ({("markov", 4)}, {("markov", 1)}, 2, "not complete", MISSING[-1] + ", 1 row failed")


@pytest.mark.parametrize("baseline", [True, False])
@pytest.mark.parametrize(("failed", "missing", "code", "outcome", "said"), [FAILED, MISSING, BROKEN])
def test_what_the_baseline_does_not_know_is_told(
    quick, hand_solved, tmp_path, baseline, failed, missing, code, outcome, said
):
    path, night = quick
    if baseline:
        assert night("a")[0] == 0
        assert run("nightly", "accept", path, "--reason", "right") == 0
    change(path, grid=BOTH)
    hand_solved.failed, hand_solved.missing = failed, missing
    got, facts = night("b", "--junit", tmp_path / "j.xml", "--markdown", tmp_path / "s.md")
    assert got == facts["exit_code"] == code
    compared = "passed: 1 unchanged" if baseline else "no baseline: nothing was compared"
    assert facts["headline"] == f"{said}; {compared}"
    assert facts["night"]["outcome"] == outcome
    assert f"**{said}; {compared}**" in (tmp_path / "s.md").read_text()
    assert said in (tmp_path / "out" / "history" / "b" / "report.html").read_text()
    suites = xml.parse(tmp_path / "j.xml").getroot()
    (case,) = suites.findall(".//testcase[@name='completeness']")
    assert case.find("error").get("message") == said
    assert (suites.get("tests"), suites.get("errors")) == (str(1 + baseline), "1")


def test_a_whole_first_night_has_a_case_that_passes(quick, tmp_path):
    _, night = quick
    code, facts = night("a", "--junit", tmp_path / "j.xml")
    assert (code, facts["night"]["outcome"]) == (0, "no baseline")
    (case,) = xml.parse(tmp_path / "j.xml").getroot().findall(".//testcase")
    assert case.get("name") == "completeness"
    assert list(case) == []


def test_a_regression_is_called_failed_also_with_failed_rows(quick, hand_solved):
    path, night = quick
    change(path, grid=BOTH)
    night("a")
    assert run("nightly", "accept", path, "--reason", "right") == 0
    hand_solved.failed = {("markov", number) for number in range(6)}
    code, facts = night("b")
    assert (code, facts["night"]["outcome"]) == (1, "failed")
    assert facts["headline"].startswith("6 rows failed; failed: 1 missing")


def test_a_night_with_another_setting_is_compared_and_says_which(quick, capsys):
    path, night = quick
    night("a")
    assert run("nightly", "accept", path, "--reason", "right") == 0
    settings = yaml.safe_load(path.read_text())["sweep"]["solver"]
    change(path, solver=settings | {"settings": settings["settings"] | {"iterations": 7}})
    code, facts = night("b")
    assert (code, facts["headline"]) == (0, "passed: 1 unchanged")
    assert facts["gate"]["judgements"][0]["changes"] == ["iterations 5 -> 7"]
    assert run("nightly", path, "--night", "b") == 0
    assert "settings differ: iterations 5 -> 7" in capsys.readouterr().out


def test_the_page_of_a_failed_night_opens_with_its_verdict(quick, hand_solved, tmp_path):
    path, night = quick
    night("a")
    assert run("nightly", "accept", path, "--reason", "right") == 0
    hand_solved.failed = {("star", 0)}
    assert night("b")[0] != 0
    good, bad = ((tmp_path / "out" / "history" / name / "report.html").read_text() for name in ("a", "b"))
    assert re.findall(r'<section id="([\w-]+)"', good)[0] == "summary"
    assert re.findall(r'<section id="([\w-]+)"', bad)[:2] == ["more-1", "summary"]
    assert ">Nightly: b, 1 row failed; failed: 1 missing</h2>" in bad
