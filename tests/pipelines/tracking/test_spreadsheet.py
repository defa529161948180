"""CSV artifacts: whatever a task is called, a spreadsheet must not compute it."""

import csv
import io

import pytest

from pipelines.tracking.spreadsheet import csv_table
from pipelines.tracking.sweep_run import comparison


@pytest.mark.parametrize("text", ["=1+1", "+cmd", "-x", "@SUM(A1)", "\t=1", '=HYPERLINK("http://x")'])
def test_a_word_that_would_be_a_formula_is_text(text):
    (_, (cell, number)) = csv.reader(io.StringIO(csv_table(["a", "b"], [[text, -1.5]]).decode(), newline=""))
    assert cell == f"'{text}"
    assert number == "-1.5"


def test_numbers_and_plain_words_stay_as_they_are():
    assert csv_table(["a"], [["-0.25"], ["+1e-3"], ["sr4-32 star"], [7], [""]]).decode().split() == [
        "a", "-0.25", "+1e-3", "sr4-32", "star", "7", '""',
    ]  # fmt: skip


def test_the_comparison_of_processes_is_written_that_way(make_sweep):
    from dataclasses import replace

    from pipelines.tracking.record import Record

    record = Record.read(make_sweep().url)
    cells = [replace(cell, task="=1+1") for cell in record.cells]
    rows = csv.reader(io.StringIO(comparison(replace(record, cells=cells))["star-vs-markov.csv"].decode(), newline=""))
    assert next(row for row in rows if row[0] == "psnr")[1].startswith("'=1+1")
