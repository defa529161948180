"""The word for a whole comparison: only what was decided is called passed."""

import json

import numpy as np

from eval.gate import Outcome, Tolerance, compare

PSNR = {"psnr": Tolerance(direction="higher", absolute=0.1)}
LEVEL = np.random.default_rng(0).normal(23, 3, 48)


def noise(seed, size=0.5):
    drawn = np.random.default_rng(seed).normal(0, size, 48)
    return drawn - drawn.mean()


def test_undecided_alone_is_not_called_passed(scores):
    result = compare(scores({"a": {"psnr": LEVEL + noise(1)}}), scores({"a": {"psnr": LEVEL}}), PSNR)
    assert result.passed
    assert result.outcome is Outcome.UNDECIDED
    assert result.summary() == "not decided: 1 undecided"
    assert json.loads(result.to_json())["outcome"] == "not decided"


def test_some_undecided_is_said_beside_what_was(scores):
    old = scores({cell: {"psnr": LEVEL} for cell in "ab"})
    result = compare(scores({"a": {"psnr": LEVEL + noise(1)}, "b": {"psnr": LEVEL}}), old, PSNR)
    assert result.summary() == "passed as far as decided: 1 undecided, 1 unchanged"
    assert compare(old, old, PSNR).outcome is Outcome.PASSED
    worse = compare(scores({"a": {"psnr": LEVEL + noise(1)}, "b": {"psnr": LEVEL - 1 + noise(2)}}), old, PSNR)
    assert worse.summary() == "failed: 1 regressed, 1 undecided"


def test_the_reason_says_what_would_have_been_noticed_and_what_it_takes(scores):
    (found,) = compare(scores({"a": {"psnr": LEVEL + noise(1)}}), scores({"a": {"psnr": LEVEL}}), PSNR).judgements
    # (1.96 + 0.84) * 0.5 / sqrt(48), give or take this draw's spread
    assert found.reason.startswith("48 measurements notice a change of about 0.")
    noticed = float(found.reason.partition("about ")[2].partition(";")[0])
    needed = int(found.reason.rpartition("about ")[2].removesuffix(" are needed").replace(" ", ""))
    assert 0.15 < noticed < 0.25
    assert 48 * (0.15 / 0.1) ** 2 < needed < 48 * (0.25 / 0.1) ** 2


def test_that_many_measurements_do_notice_it(scores):
    """The promise of the reason, kept: about four of five losses of the tolerance's size are called real."""
    random, found = np.random.default_rng(0), 0
    for _ in range(100):
        level, spread = random.normal(23, 3, 200), random.normal(0, 0.5, 200)
        old, new = scores({"a": {"psnr": level}}), scores({"a": {"psnr": level + spread - 0.1}})
        (judged,) = compare(new, old, {"psnr": PSNR["psnr"]}, resamples=500).judgements
        found += judged.p_corrected <= 0.05
    assert 65 <= found <= 95
