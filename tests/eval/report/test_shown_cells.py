"""What a report shows besides the record: chosen pictures, the paper's numbers, the Pareto front."""

from dataclasses import replace

import pytest

from eval.record import SweepRecord
from eval.report.paper_rows import paper_tables
from eval.report.shown_cells import CELLS_SHOWN, chosen_cells, picture_rows, traced_cells
from eval.scores import ScoreTable
from tests.eval.record.score_cases import TASKS, four_arms


def test_rows_of_pictures_run_from_worst_to_best(record):
    rows = [row for row in picture_rows(record, each=1) if (row.task, row.metric) == (TASKS[0], "psnr")]
    assert [row.kind for row in rows] == ["worst", "median", "best"]
    winner = record.best_of(TASKS[0], record.judged[0])
    values = [row.values[winner.id] for row in rows]
    column = record.values(winner, "psnr").values
    assert values == sorted(values)
    assert (values[0], values[-1]) == (column.min(), column.max())


def test_lpips_ranks_the_other_way_round(record):
    rows = [row for row in picture_rows(record, each=1) if (row.task, row.metric) == (TASKS[0], "lpips_vgg")]
    values = [next(iter(row.values.values())) for row in rows]
    assert values == sorted(values, reverse=True)


def test_the_best_of_every_arm_is_shown():
    record = SweepRecord(ScoreTable(four_arms(images=5)), arms=["star", "markov", "wiener", "bicubic"])
    chosen = chosen_cells(record, "sr4-32")
    assert len(chosen) <= CELLS_SHOWN
    assert list(dict.fromkeys(cell.arm for cell in chosen)) == record.arms
    assert [cell.arm for cell in traced_cells(record, "sr4-32")] == record.arms


def test_the_papers_numbers_carry_marks_of_what_differs(report):
    tables = {(one.task, one.dataset): one for one in paper_tables(report.record, report.facts)}
    small = tables["sr4-32", "imagenet"]
    assert ["G2D2", "23.82", "0.34"] in small.rows
    assert [row[0] for row in small.rows[: small.ours]] == [
        "ours, star, eta_kl=0.01, gamma=0.1",
        "ours, markov, eta_kl=0.01, gamma=0.1",
    ]
    assert "other prior (cifar10)" in small.marks
    assert any("32x32 instead of 256x256" in mark for mark in small.marks)
    large = tables[TASKS[1], "ffhq"]
    assert not any("other blur" in mark or "32x32" in mark for mark in large.marks)


@pytest.mark.parametrize(
    ("prior", "said"),
    [
        ("ithq", None),
        ("microsoft/vq-diffusion-ithq", None),
        ("cvqdiff-ffhq", "other prior (cvqdiff-ffhq)"),
        ("priors/ithq", "other prior (priors/ithq), unless it is a copy of microsoft/vq-diffusion-ithq, which nothing"),
    ],
)
def test_the_papers_own_prior_is_not_called_another_for_either_data_set(report, prior, said):
    tables = paper_tables(report.record, replace(report.facts, prior=prior))
    large = [one for one in tables if one.task == TASKS[1]]
    assert {one.dataset for one in large} == {"imagenet", "ffhq"}
    for one in large:
        marks = [mark for mark in one.marks if "prior" in mark]
        assert [mark.startswith(said or "") for mark in marks] == ([] if said is None else [True])
    small = next(one for one in tables if one.task == TASKS[0])
    assert said is None or f"other prior ({prior})" in small.marks
