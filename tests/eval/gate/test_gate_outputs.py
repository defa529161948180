"""The gate's findings in every form it is told."""

import json
import xml.etree.ElementTree as xml

import numpy as np
import pytest

from eval.gate import Tolerance, compare, default_tolerances, parse_tolerances
from operators import InputError
from pipelines.console.gate_table import gate_lines

TOLERANCES = {
    "psnr": Tolerance(direction="higher", absolute=0.1),
    "ssim": Tolerance(direction="higher", absolute=0.01),
}
PARAMETERS = {"a": {"process": "star <&|\x07>"}, "b": {"process": "markov"}, "gone": {"process": "none"}}


@pytest.fixture
def result(scores):
    """Regressed, undecided, unchanged, improved and missing, all at once."""
    random = np.random.default_rng(0)
    level, spread = random.normal(23, 3, 60), random.normal(0, 1, 60)
    spread -= spread.mean()
    old = {"psnr": level, "ssim": level / 40}
    new = {
        "a": {"psnr": level - 1 + 0.3 * spread, "ssim": level / 40},
        "b": {"psnr": level + 3 * spread, "ssim": level / 40 + 0.05 + 0.01 * spread},
    }
    both = {cell: PARAMETERS[cell] for cell in new}
    return compare(
        scores(new, parameters=both), scores(dict.fromkeys(PARAMETERS, old), parameters=PARAMETERS), TOLERANCES
    )


def refuse(constant):
    raise AssertionError(f"{constant} is not JSON")


def test_json_is_strict_and_complete(result):
    facts = json.loads(result.to_json(), parse_constant=refuse)
    assert facts["passed"] is False
    assert facts["counts"] == {"regressed": 1, "missing": 2, "undecided": 1, "improved": 1, "unchanged": 1}
    assert facts["tests_corrected_for"] == 4
    rows = {(row["cell"], row["metric"]): row for row in facts["judgements"]}
    assert rows["a", "psnr"]["verdict"] == "regressed"
    assert rows["a", "psnr"]["difference"] == pytest.approx(-1)
    assert rows["a", "psnr"]["low"] < -1 < rows["a", "psnr"]["high"] < 0
    assert rows["a", "psnr"]["pairs"] == rows["a", "psnr"]["measurements"] == 60
    assert rows["gone", "psnr"]["difference"] is None
    assert rows["a", "ssim"]["difference"] == 0.0


def test_junit_has_a_case_per_metric_and_cell(result):
    suite = xml.fromstring(result.to_junit()).find("testsuite")
    assert {key: suite.get(key) for key in ("tests", "failures", "errors", "skipped")} == {
        "tests": "6",
        "failures": "1",
        "errors": "2",
        "skipped": "1",
    }
    cases = {(case.get("classname"), case.get("name")): case for case in suite}
    assert len(cases) == 6
    regressed = cases["g2d2.psnr", "star <&|?>"].find("failure")
    assert regressed.get("message").startswith("psnr of star <&|?> is regressed: ")
    assert "does not have this cell" in cases["g2d2.ssim", "none"].find("error").get("message")
    assert cases["g2d2.psnr", "markov"].find("skipped").get("type") == "undecided"
    assert "unchanged" in cases["g2d2.ssim", "star <&|?>"].find("system-out").text


def test_the_worst_comes_first_and_many_share_one_remark(result):
    assert [row[0] for row in result.rows()] == [
        "regressed",
        "missing",
        "missing",
        "undecided",
        "improved",
        "unchanged",
    ]
    assert result.summary() == "failed: 1 regressed, 2 missing, 1 undecided, 1 improved, 1 unchanged"
    assert "psnr of none; ssim of none: the candidate does not have this cell" in result.remarks()
    lines = gate_lines(result).splitlines()
    assert [line.split()[0] for line in lines[:2]] == ["verdict", "regressed"]
    assert lines[7:] == [f"note: {remark}" for remark in result.remarks()]


def test_markdown_is_one_table_whatever_the_labels(result):
    lines = result.to_markdown().splitlines()
    assert lines[0].startswith("**failed: 1 regressed")
    table = [line.replace("\\|", "") for line in lines if line.startswith("| ")]
    assert len(table) == 8
    assert {line.count("|") for line in table} == {10}


def test_tolerances_are_read_from_words():
    found = parse_tolerances(["psnr=0.1", "lpips_vgg=2%", "seconds=20%", "sharpness:higher=0.5"], confidence=0.9)
    assert found["psnr"] == Tolerance(direction="higher", absolute=0.1, confidence=0.9)
    assert found["lpips_vgg"] == Tolerance(direction="lower", relative=0.02, confidence=0.9)
    assert found["seconds"].direction == "lower"
    assert found["sharpness"] == Tolerance(direction="higher", absolute=0.5, confidence=0.9)
    assert [str(found[name]) for name in ("psnr", "lpips_vgg")] == ["0.1", "2%"]
    assert default_tolerances(["ssim", "seconds"], 0.9).keys() == {"ssim"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["psnr"], "'psnr' is not METRIC=NUMBER"),
        (["psnr=much"], "'psnr=much' is not METRIC=NUMBER"),
        (["psnr=%"], "'psnr=%' is not METRIC=NUMBER"),
        (["=1"], "'=1' is not METRIC=NUMBER"),
        (["psnr=-1"], "tolerance of psnr: absolute is -1.0: it must be greater than or equal to 0"),
        (["psnr=nan"], "absolute is nan"),
        (["psnr=1", "psnr=2"], "'psnr' is given twice"),
        (["sharpness=1"], "write sharpness:higher=1 or sharpness:lower=1"),
        (["residual=1"], "whether more of 'residual' is better is unknown"),
        (["sharpness:up=1"], "direction is 'up': it must be 'higher' or 'lower'"),
    ],
)
def test_words_that_make_no_tolerance_are_refused(words, said):
    with pytest.raises(InputError, match=said):
        parse_tolerances(words)
