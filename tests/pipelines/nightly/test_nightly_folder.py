"""History, baselines and what may be deleted."""

import pytest

from operators import InputError
from pipelines.nightly import NightlyFolder, accept
from pipelines.nightly.nightly_spec import NightlySpec
from tests.pipelines.nightly.night_cases import level, night, reading, score_table


@pytest.fixture
def folder(tmp_path):
    return NightlyFolder(str(tmp_path / "o"), "n")


@pytest.fixture
def spec(folder):
    return NightlySpec(name="n", output=folder.url, sweep={"manifest": "m", "prior": "p"})


def add(folder, called, **changes):
    folder.write_night(night(called, {"psnr": level(20)}, **changes), score_table())
    folder.store.write_bytes(f"nights/{called}/solved/a.parquet", b"x")


def test_nights_are_in_the_order_they_ran(folder):
    add(folder, "b", started="1")
    add(folder, "a", started="2")
    assert [record.night for record in folder.nights()] == ["b", "a"]
    with pytest.raises(InputError, match="'c' has not run to its end here; nights that have: b, a"):
        folder.night("c")


def test_baselines_are_numbered_and_remembered(folder, spec):
    add(folder, "a")
    add(folder, "b")
    first = accept(spec, "because  it\nis right", "ada", "a")
    second = accept(spec, "better", "bob")
    assert [(b.number, b.night.night, b.by) for b in folder.baselines()] == [(1, "a", "ada"), (2, "b", "bob")]
    assert first.reason == "because it is right"
    assert folder.baseline_scores(second).metrics == ("psnr",)


def test_scores_that_are_not_what_was_accepted_are_refused(folder, spec):
    add(folder, "a")
    baseline = accept(spec, "right", "ada")
    folder.store.write_table(baseline.scores, score_table(1.0))
    with pytest.raises(InputError, match="is not what was accepted"):
        folder.baseline_scores(baseline)


@pytest.mark.parametrize(
    ("changes", "reason", "said"),
    [
        ({"complete": False, "committed": 3}, "x", "3 of 4 work items are committed"),
        ({"failed": 1}, "x", "only a whole night can be accepted"),
        ({"name": "other"}, "x", "it is of 'other', not of 'n'"),
        ({}, "  ", "reason: it is empty"),
    ],
)
def test_what_should_not_be_accepted_is_refused(folder, spec, changes, reason, said):
    add(folder, "a", **changes)
    with pytest.raises(InputError, match=said):
        accept(spec, reason, "ada")
    assert folder.baselines() == []


def test_there_must_be_a_night(spec):
    with pytest.raises(InputError, match="no night has run"):
        accept(spec, "x", "ada")


def test_old_nights_lose_their_pictures_but_neither_history_nor_the_accepted_one(folder, spec):
    for name in "abcde":
        add(folder, name)
    accept(spec, "right", "ada", "b")
    assert folder.prune(2) == ["a", "c"]
    left = {name.split("/")[1] for name in folder.store.list("nights/")}
    assert left == {"b", "d", "e"}
    assert [record.night for record in folder.nights()] == list("abcde")
    assert folder.prune(2) == []


def test_readings_of_an_interrupted_night_are_kept(folder):
    assert folder.readings("a") == []
    folder.add_readings("a", [reading(0.1), reading(0.3)])
    folder.add_readings("a", [reading(0.2)])
    every = folder.add_readings("a", [reading(0.4)])
    assert [(r.seconds, r.turn) for r in every] == [(0.1, 0), (0.3, 0), (0.2, 1), (0.4, 2)]
    assert folder.readings("a") == every


@pytest.mark.parametrize("content", [b"{", b"\xff", b'{"seconds": 1}', b'[{"seconds": "long"}]', b"[1]"])
def test_a_damaged_record_is_named(content, folder):
    folder.store.write_bytes("history/a/night.json", content)
    folder.store.write_bytes("history/a/calibration.json", content)
    what_to_do = "remove it and run the command that wrote it again"
    with pytest.raises(InputError, match=rf"history/a/night\.json: it is damaged \(.*\); {what_to_do}"):
        folder.nights()
    with pytest.raises(InputError, match=rf"history/a/calibration\.json: it is damaged \(.*\); {what_to_do}"):
        folder.readings("a")
