"""Plain lines say how far the work is, and guess the rest from work alone."""

import pytest

from pipelines.console import progress
from pipelines.console.progress import Lines


@pytest.fixture
def clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_starting_up_and_earlier_work_are_not_in_the_rate(clock, capsys):
    lines = Lines(total=100, label="images", before=40)
    clock[0] = 60.0  # Ray, and the first batch
    lines.update(10)
    clock[0] = 80.0
    lines.update(10)
    said = capsys.readouterr().err.splitlines()
    assert said == ["images: 50 of 100, at most 300 s left", "images: 60 of 100, 80 s left"]


def test_lines_are_far_apart(clock, capsys):
    lines = Lines(total=10, label="images")
    for _ in range(10):
        clock[0] += 1
        lines.update(1)
    assert capsys.readouterr().err == ""
