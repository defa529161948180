"""What a report claims: winners, ties, verdicts, chosen pictures, the paper's numbers."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from eval.report import Facts, Report, Results, render_page
from eval.report.findings import best_cells, best_duels, grid_duels, tuned_apart
from eval.report.numbers import p_shown, shown
from eval.report.paper_rows import paper_tables
from eval.report.plots import pareto_front
from eval.report.shown_cells import picture_rows
from eval.report.summary import duel_words, headline, too_few
from eval.report.tables import latex, markdown, tables
from eval.scores import ScoreTable, score_schema
from eval.statistics import compare_grid, corrected_together
from tests.eval.report.conftest import TASKS, score_table


def test_the_best_cell_is_the_planted_one_for_both_directions(results):
    found = {(best.task, best.metric.name): best for best in best_cells(results)}
    assert set(found) == {(task, metric) for task in TASKS for metric in ("psnr", "lpips_vgg")}
    for best in found.values():
        assert best.cell.label == "star, eta_kl=0.01, gamma=0.1"
        assert best.mean.low < best.mean.mean < best.mean.high
        assert (best.rivals, best.tied) == (11, 0)


def test_cells_that_cannot_be_told_apart_count_as_ties():
    results = Results(ScoreTable(score_table(lift=0.0)))
    assert {best.tied for best in best_cells(results)} == {1}


def test_star_wins_where_it_was_made_better_and_nobody_where_not(results):
    assert {duel.winner for duel in best_duels(results)} == {"star"}
    even = best_duels(Results(ScoreTable(score_table(lift=0.0))))
    assert {duel.winner for duel in even} == {None}
    worse = best_duels(Results(ScoreTable(score_table(lift=-1.0))))
    assert {duel.verdict for duel in worse} == {"Markov better"}


def test_too_few_images_are_said_to_be_too_few(results):
    few = best_duels(Results(ScoreTable(score_table(images=4))))
    assert {duel.winner for duel in few} == {None}
    assert headline(few) == "4 images cannot tell star from Markov; 8 can"
    assert too_few(best_duels(results)) is None


def test_grid_duels_pair_equal_settings(results):
    duels = grid_duels(results)
    assert len(duels) == 2 * 2 * 6
    for duel in duels:
        assert duel.star.settings | {"process": ""} == duel.markov.settings | {"process": ""}


def test_grid_duels_are_the_comparisons_that_statistics_makes(results):
    """The terminal and MLflow show `compare_grid`; on a complete table the page must say the same."""
    duels = {(duel.metric.name, duel.result.a, duel.result.b): duel.result for duel in grid_duels(results)}
    within, metrics = ["task", *results.axes], ("psnr", "lpips_vgg")
    found = [one for metric in metrics for one in compare_grid(results.scores, metric, along="process", within=within)]
    expected = corrected_together(found)
    assert [duels.pop((one.metric, one.a, one.b)) for one in expected] == expected
    assert duels == {}


def test_settings_tuned_for_a_process_are_named():
    """They are no parameters of the grid, and the cells at one point of it differ in them."""
    table = score_table()
    rates = [15.0 if row["process"] == "star" and row["task"] == TASKS[0] else 20.0 for row in table.to_pylist()]
    kinds = {name: table.schema.field(name).type for name in ("task", "process", "eta_kl", "gamma")}
    schema = score_schema(["psnr", "lpips_vgg", "residual", "seconds"], {**kinds, "learning_rate": pa.float64()})
    tuned = table.append_column("learning_rate", pa.array(rates)).select(schema.names).cast(schema)
    results = Results(ScoreTable(tuned), axes=["process", "eta_kl", "gamma"])
    assert len(grid_duels(results)) == 2 * 2 * 6
    assert tuned_apart(results) == ["sr4-32: learning_rate 15 for star, 20 for Markov"]
    page = render_page(Report(Facts("tuned", "out", "p", 288, 288, 0, "", {}), results)).decode()
    assert "learning_rate 15 for star, 20 for Markov" in page
    assert "all varied parameters agree" in page
    assert "all other settings agree" not in page


def test_an_unfinished_sweep_is_compared_on_what_both_have():
    table = score_table()
    gone = pc.and_(pc.equal(table["process"], "markov"), pc.equal(table["measurement"], "m003"))
    results = Results(ScoreTable(table.filter(pc.invert(gone))))
    assert {duel.result.pairs for duel in best_duels(results)} == {11}


def test_a_cell_that_failed_on_hard_images_does_not_win():
    """Without its six hardest images a poor cell has the best mean of all."""
    table = score_table(images=12)
    scores = ScoreTable(table)
    easy = {}
    for task in TASKS:
        column = scores.values(f"{task[:3]}-star-0.01-1.0", "psnr")
        easy[task] = set(column.measurements[np.argsort(column.values)[6:]])
    rows = table.to_pylist()
    for row in rows:
        if row["cell"].endswith("star-0.01-1.0") and row["measurement"] not in easy[row["task"]]:
            row.update(error="it failed", psnr=float("nan"), lpips_vgg=float("nan"), residual=float("nan"))
    results = Results(ScoreTable(pa.Table.from_pylist(rows, schema=table.schema)))
    naive = max(results.of_task(TASKS[0]), key=lambda cell: cell.means["psnr"].mean)
    assert naive.label == "star, eta_kl=0.01, gamma=1"
    for best in best_cells(results):
        assert best.cell.label == "star, eta_kl=0.01, gamma=0.1"
        assert (best.rivals, best.unranked, best.of_images) == (10, 1, "12")
    winner = {row.task: row for row in picture_rows(results, each=1)}[TASKS[0]]
    assert naive.id not in winner.values


def test_one_missing_image_keeps_a_cell_in_the_race_on_what_all_share():
    table = score_table(images=20)
    star = pc.ends_with(table["cell"], "star-0.01-0.1")
    gone = pc.and_(star, pc.equal(table["measurement"], "m007"))
    results = Results(ScoreTable(table.filter(pc.invert(gone))))
    for best in best_cells(results):
        assert best.cell.label == "star, eta_kl=0.01, gamma=0.1"
        assert (best.rivals, best.unranked, best.of_images) == (11, 0, "19 of 20")
        rival = next(cell for cell in results.of_task(best.task) if cell is not best.cell)
        column = results.values(rival, best.metric.name)
        kept = column.values[column.measurements != "m007"]
        assert rival.ranked[best.metric.name] == pytest.approx(kept.mean())


def test_axes_are_those_that_vary_within_a_task(results):
    assert results.axes == ["process", "eta_kl", "gamma"]
    assert Results(results.scores, axes=["gamma"]).axes == ["gamma"]


def test_rows_of_pictures_run_from_worst_to_best(results):
    rows = [row for row in picture_rows(results, each=1) if (row.task, row.metric) == (TASKS[0], "psnr")]
    assert [row.kind for row in rows] == ["worst", "median", "best"]
    winner = next(cell.id for cell in results.of_task(TASKS[0]) if cell.label == "star, eta_kl=0.01, gamma=0.1")
    values = [row.values[winner] for row in rows]
    column = results.scores.values(winner, "psnr").values
    assert values == sorted(values)
    assert (values[0], values[-1]) == (column.min(), column.max())


def test_lpips_ranks_the_other_way_round(results):
    rows = [row for row in picture_rows(results, each=1) if (row.task, row.metric) == (TASKS[0], "lpips_vgg")]
    values = [next(iter(row.values.values())) for row in rows]
    assert values == sorted(values, reverse=True)


def test_the_papers_numbers_carry_marks_of_what_differs(report):
    tables = {(one.task, one.dataset): one for one in paper_tables(report.results, report.facts)}
    small = tables["sr4-32", "imagenet"]
    assert ["G2D2", "23.82", "0.34"] in small.rows
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
    tables = paper_tables(report.results, replace(report.facts, prior=prior))
    large = [one for one in tables if one.task == TASKS[1]]
    assert {one.dataset for one in large} == {"imagenet", "ffhq"}
    for one in large:
        marks = [mark for mark in one.marks if "prior" in mark]
        assert [mark.startswith(said or "") for mark in marks] == ([] if said is None else [True])
    small = next(one for one in tables if one.task == TASKS[0])
    assert said is None or f"other prior ({prior})" in small.marks


def test_pareto_front_keeps_what_none_beats_in_both(results):
    psnr, lpips = results.judged
    points = [(1.0, 20.0), (2.0, 19.0), (3.0, 25.0), (3.0, 24.0)]
    assert pareto_front(points, psnr) == [(1.0, 20.0), (3.0, 25.0)]
    assert pareto_front(points, lpips) == [(1.0, 20.0), (2.0, 19.0)]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (24.3743, "24.37"),
        (0.23970, "0.2397"),
        (0.00012, "0.0001"),
        (3e-7, "3.00e-07"),
        (None, ""),
        (7, "7"),
        (0.0, "0.000"),
    ],
)
def test_numbers_are_written_with_the_same_digits(value, text):
    assert shown(value) == text


@pytest.mark.parametrize(
    ("p", "text"), [(0.00004, "< 0.001"), (0.001, "0.0010"), (0.0488, "0.049"), (0.5, "0.50"), (1.0, "1.0"), (None, "")]
)
def test_no_p_value_is_written_as_nothing(p, text):
    assert p_shown(p) == text


def test_a_small_p_value_reads_the_same_on_the_page_and_in_tables(results):
    duel = best_duels(results)[0]
    small = replace(duel, result=replace(duel.result, p_corrected=0.0004))
    assert ", p < 0.001: star better" in duel_words(small)
    one = next(one for one in tables(results) if one.name == "star-against-markov")
    assert [row[3] for row in one.rows] == [p_shown(duel.result.p_corrected) for duel in best_duels(results)]
    rare = replace(one, rows=[["sr4", "psnr", "star better", p_shown(0.0004), "1"]])
    assert "& $<$ 0.001 &" in latex(rare)  # plain < is another sign in LaTeX's usual fonts
    assert "| &lt; 0.001 |" in markdown(rare)
