"""CSV artifacts: whatever a task is called, a spreadsheet must not compute it."""

import csv
import io
from dataclasses import replace

import pyarrow as pa
import pytest

from eval.scores import ScoreTable
from pipelines.score.stored_sweep import StoredSweep
from pipelines.storage.sweep_folder import SweepFolder
from pipelines.track.spreadsheet import csv_table
from pipelines.track.sweep_run import contrast_files


@pytest.mark.parametrize("text", ["=1+1", "+cmd", "-x", "@SUM(A1)", "\t=1", '=HYPERLINK("http://x")'])
def test_a_word_that_would_be_a_formula_is_text(text):
    (_, (cell, number)) = csv.reader(io.StringIO(csv_table(["a", "b"], [[text, -1.5]]).decode(), newline=""))
    assert cell == f"'{text}"
    assert number == "-1.5"


def test_numbers_and_plain_words_stay_as_they_are():
    assert csv_table(["a"], [["-0.25"], ["+1e-3"], ["sr4-32 star"], [7], [""]]).decode().split() == [
        "a", "-0.25", "+1e-3", "sr4-32", "star", "7", '""',
    ]  # fmt: skip


def test_contrasts_are_written_that_way(make_sweep):
    sweep = StoredSweep.read(SweepFolder(make_sweep().url))
    tasks = pa.array(["=1+1"] * len(sweep.scores.table))
    table = sweep.scores.table.set_column(sweep.scores.table.column_names.index("task"), "task", tasks)
    files = contrast_files(replace(sweep, scores=ScoreTable(table)))
    rows = list(csv.DictReader(io.StringIO(files["contrasts.csv"].decode(), newline="")))
    assert {row["task"] for row in rows} == {"'=1+1"}
