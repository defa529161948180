"""Failed rows solved again: counted, calibrated and remembered as the work they are."""

import pytest


@pytest.fixture
def commits(monkeypatch):
    told = iter(["before", "after", "later"])
    monkeypatch.setattr("pipelines.nightly.facts._commit", lambda: next(told))


def test_rows_solved_again_are_tonights_work(quick, hand_solved, commits):
    _, night = quick
    hand_solved.failed = {("star", 2)}
    code, first = night("a")
    assert (code, first["night"]["failed"], first["solved"]) == (1, 1, 6)
    hand_solved.failed = set()
    code, again = night("a", "--retry-failed")
    assert (code, again["night"]["failed"]) == (0, 0)
    assert again["solved"] == hand_solved.solved == 1
    assert again["night"]["facts"]["commit"] == "after"
    assert again["night"]["started"] == first["night"]["started"]
    assert len(again["night"]["calibration"]) == 4


def test_with_nothing_to_retry_nothing_is_solved(quick, hand_solved, commits):
    _, night = quick
    night("a")
    _, again = night("a", "--retry-failed")
    assert again["solved"] == hand_solved.solved == 0
    assert again["night"]["facts"]["commit"] == "before"
    assert len(again["night"]["calibration"]) == 2
