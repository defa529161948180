"""Plain lines say how far the work is, and guess the rest from work alone."""

import io

import pytest

from pipelines.console import progress
from pipelines.console.progress import Bar, Lines


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


def test_what_is_noted_stands_beside_the_count(clock, capsys):
    lines = Lines(total=100, label="images")
    lines.note("12/49 in, leads: star")
    clock[0] = 20.0
    lines.update(10)
    assert capsys.readouterr().err == "images: 10 of 100, at most 180 s left; 12/49 in, leads: star\n"
    bar = Bar(total=100, file=io.StringIO(), ncols=120)
    bar.note("12/49 in, leads: star")
    assert "12/49 in, leads: star" in str(bar)
