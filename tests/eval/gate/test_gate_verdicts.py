"""Which verdict falls when: planted changes, missing pieces, other data."""

import numpy as np
import pyarrow as pa
import pytest

from eval.gate import Tolerance, Verdict, compare, default_tolerances
from eval.scores import ScoreTable
from operators import InputError

PSNR = {"psnr": Tolerance(direction="higher", absolute=0.1)}
LPIPS = {"lpips_vgg": Tolerance(direction="lower", relative=0.02)}
HARDNESS = np.random.default_rng(0).normal(23, 3, 128)


def night(shift=0.0, seed=0, noise=0.5):
    """128 images as one run of a solver scores them: two runs differ by about 0.7 dB per image."""
    return HARDNESS + shift + np.random.default_rng(seed).normal(0, noise, 128)


def only(result):
    (judgement,) = result.judgements
    return judgement


def test_a_planted_loss_of_0_3_db_is_found_every_night(scores):
    for i in range(30):
        old, new = scores({"c": {"psnr": night(seed=2 * i)}}), scores({"c": {"psnr": night(-0.3, seed=2 * i + 1)}})
        assert only(compare(new, old, PSNR, resamples=1000)).verdict is Verdict.REGRESSED


def test_a_judgement_carries_its_evidence(scores):
    old, new = night(seed=1), night(-0.3, seed=2)
    found = only(compare(scores({"c": {"psnr": new}}), scores({"c": {"psnr": old}}), PSNR))
    assert found.candidate_mean == pytest.approx(new.mean())
    assert found.baseline_mean == pytest.approx(old.mean())
    assert found.difference.mean == pytest.approx((new - old).mean())
    assert found.difference.low < found.difference.mean < found.difference.high < 0
    assert (found.difference.count, found.allowed) == (128, 0.1)
    assert found.p_value == found.p_corrected < 0.05


def test_identical_results_are_unchanged_even_without_tolerance(scores):
    table = scores({"c": {"psnr": night()}})
    result = compare(table, table, {"psnr": Tolerance(direction="higher", absolute=0.0)})
    assert only(result).verdict is Verdict.UNCHANGED
    assert result.passed


@pytest.mark.parametrize(
    ("shift", "noise", "verdict"),
    [
        (0.3, 0.3, Verdict.IMPROVED),
        (-0.3, 0.3, Verdict.REGRESSED),
        (-0.05, 0.1, Verdict.UNCHANGED),  # certainly worse, and too little to matter
        (0.0, 0.2, Verdict.UNCHANGED),
        (0.0, 2.0, Verdict.UNDECIDED),
        (-0.09, 0.3, Verdict.UNDECIDED),  # certainly worse, perhaps by more than the tolerance
    ],
)
def test_verdicts_follow_size_and_certainty(scores, shift, noise, verdict):
    difference = np.random.default_rng(3).normal(0, noise, 128)
    new = HARDNESS + shift + difference - difference.mean()
    found = only(compare(scores({"c": {"psnr": new}}), scores({"c": {"psnr": HARDNESS}}), PSNR))
    assert found.verdict is verdict


def test_lower_is_better_where_it_is(scores):
    old = np.abs(night()) / 60
    for factor, verdict in ((1.05, Verdict.REGRESSED), (0.95, Verdict.IMPROVED), (1.01, Verdict.UNCHANGED)):
        new, was = scores({"c": {"lpips_vgg": factor * old}}), scores({"c": {"lpips_vgg": old}})
        found = only(compare(new, was, LPIPS))
        assert found.verdict is verdict
        assert found.allowed == pytest.approx(0.02 * old.mean())


def test_a_loss_that_is_large_but_not_sure_is_undecided_and_passes(scores):
    random = np.random.default_rng(1)
    old, new = 23 + random.normal(0, 3, 12), 22.8 + random.normal(0, 3, 12)
    result = compare(scores({"c": {"psnr": new}}), scores({"c": {"psnr": old}}), PSNR)
    assert only(result).verdict is Verdict.UNDECIDED
    assert only(result).reason.startswith("12 measurements notice a change of about 2.")
    assert result.passed


def test_too_few_measurements_say_that_they_are_too_few(scores):
    for count, verdict in ((5, Verdict.UNDECIDED), (6, Verdict.REGRESSED)):
        old, new = scores({"c": {"psnr": np.full(count, 20.0)}}), scores({"c": {"psnr": np.full(count, 10.0)}})
        found = only(compare(new, old, PSNR))
        assert found.verdict is verdict
    few = scores({"c": {"psnr": np.full(5, 20.0)}}), scores({"c": {"psnr": np.full(5, 10.0)}})
    assert (
        "5 measurements are too few to decide anything here: at least 6 are needed" in only(compare(*few, PSNR)).reason
    )
    one = scores({"c": {"psnr": [20.0]}}), scores({"c": {"psnr": [20.0]}})
    assert only(compare(*one, PSNR)).verdict is Verdict.UNDECIDED


def test_one_bad_cell_of_a_large_grid_is_found_and_the_others_are_left_alone(scores):
    cells = [f"c{i:02d}" for i in range(50)]
    old = scores({cell: {"psnr": night(seed=i)} for i, cell in enumerate(cells)})
    shifts = {"c17": -0.5}
    new = scores({cell: {"psnr": night(shifts.get(cell, 0.0), seed=100 + i)} for i, cell in enumerate(cells)})
    result = compare(new, old, PSNR)
    assert [j.cell for j in result.judgements if j.verdict is Verdict.REGRESSED] == ["c17"]
    assert all(j.p_corrected >= j.p_value for j in result.judgements)


def test_what_the_candidate_lacks_is_missing_and_fails(scores, arrow_scores):
    old = scores({"a": {"psnr": night(), "ssim": night() / 40}, "b": {"psnr": night(), "ssim": night() / 40}})
    whole = arrow_scores({"a": {"psnr": night(), "ssim": night() / 40}, "b": {"psnr": night(), "ssim": night() / 40}})
    failed = whole.to_pylist()
    failed[3] |= {"error": "OutOfMemoryError", "psnr": float("nan"), "ssim": float("nan")}
    infinite = whole.to_pylist()
    infinite[3]["psnr"] = float("inf")
    tables = {
        "does not have this cell": whole.filter(pa.compute.equal(whole["cell"], "b")),
        "1 of 128 items of the candidate failed": pa.Table.from_pylist(failed, schema=whole.schema),
        "2 of 128 items are not in the candidate, such as m0000 seed 0": whole.slice(2),
        "1 of 128 values of the candidate is not finite": pa.Table.from_pylist(infinite, schema=whole.schema),
    }
    for words, table in tables.items():
        result = compare(ScoreTable(table), old, PSNR)
        found = {j.cell: j for j in result.judgements}
        assert found["a"].verdict is Verdict.MISSING, words
        assert words in found["a"].reason
        assert found["b"].verdict is Verdict.UNCHANGED
        assert not result.passed
    without = scores({cell: {"psnr": night()} for cell in "ab"})
    verdicts = {(j.cell, j.metric): j.verdict for j in compare(without, old).judgements}
    assert verdicts["a", "ssim"] is verdicts["b", "ssim"] is Verdict.MISSING
    assert verdicts["a", "psnr"] is Verdict.UNCHANGED


def test_other_data_is_incomparable_and_fails(scores):
    old = scores({"c": {"psnr": night()[:100]}})
    for new, words in (
        (scores({"c": {"psnr": night()[:100]}}, digest="other"), "100 of 100 measurements have other content"),
        (scores({"c": {"psnr": night()}}), "28 measurements are only in the candidate"),
    ):
        result = compare(new, old, PSNR)
        assert only(result).verdict is Verdict.INCOMPARABLE
        assert words in only(result).reason
        assert not result.passed
    empty = scores({"c": {"psnr": np.full(3, np.inf)}})
    assert only(compare(empty, empty, PSNR)).verdict is Verdict.INCOMPARABLE


def test_a_pair_the_baseline_never_had_is_left_out_and_told(scores):
    old = night()
    old[7] = np.nan
    found = only(compare(scores({"c": {"psnr": night()}}), scores({"c": {"psnr": old}}), PSNR))
    assert (found.verdict, found.difference.count) == (Verdict.UNCHANGED, 127)
    assert found.reason == "1 pair without finite values in both left out"


def test_what_was_not_judged_is_noted(scores, arrow_scores):
    old = scores({"a": {"psnr": night()}})
    new = scores({cell: {"psnr": night(), "ssim": night() / 40} for cell in "ab"})
    result = compare(new, old)
    assert result.passed
    assert result.notes == (
        "1 cell only in the candidate, not judged: b",
        "only the candidate has ssim: not judged",
    )
    bare = ScoreTable(arrow_scores({"a": {"psnr": night()}}).drop_columns(["measurement_digest"]))
    assert compare(bare, old).notes == ("128 rows of the candidate carry no measurement digest: matched by id alone",)


def test_the_defaults_are_used_for_the_metrics_that_are_there(scores):
    table = scores({"a": {"psnr": night(), "lpips_vgg": night() / 60, "seconds": night()}})
    assert [j.metric for j in compare(table, table).judgements] == ["psnr", "lpips_vgg"]
    assert compare(table, table).judgements[0].tolerance == default_tolerances(["psnr"])["psnr"]


def test_tolerances_that_cannot_apply_are_refused(scores):
    table = scores({"a": {"seconds": night()}})
    for words, tolerances in {
        "no metric has one of its own; name some; the baseline has seconds": None,
        "none is given": {},
        "'psnr' cannot be judged; the baseline has seconds": PSNR,
        "exactly one of absolute and relative": {"seconds": {"direction": "lower"}},
        "direction is 'up'": {"seconds": {"direction": "up", "absolute": 1}},
    }.items():
        with pytest.raises(InputError, match=words):
            compare(table, table, tolerances)
