"""What the record of a sweep claims: labels, means, winners, ties, contrasts and their words."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from eval.record import SweepRecord, default_baseline, headline
from eval.record.headline import added_nothing, undecidable
from eval.record.numbers import p_shown, shown
from eval.record.typeset import latex, markdown
from eval.record.word_tables import all_tables, cell_table, contrast_table
from eval.scores import ScoreTable, score_schema
from eval.statistics import holm, paired
from tests.eval.record.score_cases import TASKS, four_arms, score_table


@pytest.fixture(scope="module")
def record():
    return SweepRecord(ScoreTable(score_table()))


@pytest.fixture(scope="module")
def four():
    return SweepRecord(ScoreTable(four_arms()), arms=["star", "markov", "wiener", "bicubic"], compare="markov")


def test_cells_are_told_by_arm_and_by_what_varies_within_it(record, four):
    assert (record.arms, record.shown) == (["star", "markov"], ["eta_kl", "gamma"])
    assert record.cells[0].label == "star, eta_kl=0.001, gamma=0.1"
    assert record.cells[0].title == f"{sorted(TASKS)[0]}, star, eta_kl=0.001, gamma=0.1"
    assert four.shown == ["eta_kl", "noise"]  # steps and process follow from the arm
    labels = [cell.label for cell in four.of_task("sr4-32")]
    assert labels == [
        *(f"{arm}, eta_kl={eta:g}" for arm in ("star", "markov") for eta in (0.001, 0.01, 0.1)),
        "wiener, noise=0.05",
        "wiener, noise=0.1",
        "bicubic",
    ]
    assert {cell.title for cell in four.cells} == {four.scores.cell_label(cell.id) for cell in four.cells}


def test_means_are_plain_means_with_intervals(record):
    for cell in record.cells:
        column = record.values(cell, "psnr")
        assert cell.means["psnr"].mean == pytest.approx(column.values.mean())
        assert cell.means["psnr"].low < cell.means["psnr"].mean < cell.means["psnr"].high
        assert (cell.count, cell.failed, cell.solved) == (12, 0, 12)


def test_the_best_cell_is_the_planted_one_for_both_directions(record):
    found = {(best.task, best.metric.name): best for best in record.best}
    assert set(found) == {(task, metric) for task in TASKS for metric in ("psnr", "lpips_vgg")}
    for best in found.values():
        assert best.cell.label == "star, eta_kl=0.01, gamma=0.1"
        assert (best.rivals, best.tied) == (11, 0)
        assert record.best_of(best.task, best.metric, "markov").label == "markov, eta_kl=0.01, gamma=0.1"


def test_cells_that_cannot_be_told_apart_count_as_ties():
    assert {best.tied for best in SweepRecord(ScoreTable(score_table(lift=0.0))).best} == {1}


def test_an_arm_wins_where_it_was_made_better_and_nobody_where_not(record):
    assert {one.winner for one in record.contrasts} == {"a"}
    assert {(one.a, one.b) for one in record.contrasts} == {("star", "markov")}
    assert headline(record) == "star beats markov in all of 4 comparisons"
    even = SweepRecord(ScoreTable(score_table(lift=0.0)))
    assert {one.winner for one in even.contrasts} == {None}
    assert headline(even) == "No difference between star and markov is shown in any of 4 comparisons"
    worse = SweepRecord(ScoreTable(score_table(lift=-1.0)))
    assert {one.verdict for one in worse.contrasts} == {"markov better"}


def test_a_baseline_is_the_one_that_is_named(record):
    other = SweepRecord(record.scores, compare="star")
    assert {(one.a, one.b, one.verdict) for one in other.contrasts} == {("markov", "star", "star better")}
    assert default_baseline(["star", "markov"]) == "markov"
    assert default_baseline(["star", "markov", "wiener"]) == "star"
    unknown = SweepRecord(record.scores, compare="wiener")
    assert unknown.contrasts == unknown.pointwise == []
    assert unknown.notes == ["nothing is compared: nothing is scored of 'wiener', which compare names"]


def test_values_of_a_setting_are_compared_within_an_arm_point_by_point(record):
    by_eta = SweepRecord(record.scores, compare="eta_kl")
    assert by_eta.sides.names == ("eta_kl=0.001", "eta_kl=0.01", "eta_kl=0.1")
    assert {(one.a, one.b) for one in by_eta.contrasts} == {
        ("eta_kl=0.01", "eta_kl=0.001"),
        ("eta_kl=0.1", "eta_kl=0.001"),
    }
    for one in by_eta.pointwise:
        (a,), (b,) = one.cells_a, one.cells_b
        assert (a.arm, a.settings["gamma"]) == (b.arm, b.settings["gamma"])
    assert len(by_eta.pointwise) == 2 * 2 * 2 * 2 * 2


def test_a_setting_that_arms_stand_for_is_compared_across_them(four):
    by_process = SweepRecord(four.scores, compare="process")
    assert (by_process.sides.names, by_process.sides.baseline) == (("markov", "star"), "markov")
    assert {(one.a, one.b) for one in by_process.contrasts} == {("star", "markov")}
    assert len(by_process.pointwise) == 2 * 2 * 3


def test_every_arm_is_held_against_the_baseline(four):
    assert [one.a for one in four.contrasts if one.task == "sr4-32" and one.metric.name == "psnr"] == [
        "star",
        "wiener",
        "bicubic",
    ]
    verdicts = {(one.a, one.verdict) for one in four.contrasts}
    assert verdicts == {("star", "star better"), ("wiener", "markov better"), ("bicubic", "markov better")}
    assert {one.comparisons for one in four.contrasts} == {3 * 2 * 2}
    assert headline(four) == "Against markov: star better in 4 of 4, wiener worse in 4 of 4, bicubic worse in 4 of 4"
    assert {one.a for one in four.pointwise} == {"star"}  # only these share their settings with the baseline's
    assert four.set_apart == [f"{task}: steps 25 for star, 50 for markov" for task in four.tasks]


def test_too_few_images_are_said_to_be_too_few_and_lean_nowhere(record):
    few = SweepRecord(ScoreTable(score_table(images=4)))
    assert {one.winner for one in few.contrasts} == {None}
    assert headline(few) == "4 images cannot tell star from markov; 8 can"
    assert not any("leans" in one.verdict for one in (*few.contrasts, *few.pointwise))
    assert undecidable(record.contrasts) is None
    three = SweepRecord(ScoreTable(score_table(images=3)))
    assert headline(three).startswith("star and markov are not compared: 3 measurements cannot both choose")


def test_what_is_worse_than_doing_nothing_is_in_the_headline(record):
    rows = [{"digest": "d", "measurement": f"m{i:03d}", "task": task, "psnr": 30.0 if task == TASKS[0] else 5.0}
            for task in TASKS for i in range(12)]  # fmt: skip
    measured = SweepRecord(record.scores, measured=pa.Table.from_pylist(rows))
    assert added_nothing(record) is None
    nothing = f"Nothing is better than the measurement itself in {TASKS[0]} by psnr"
    assert headline(measured) == f"star beats markov in all of 4 comparisons. {nothing}"
    worse, better = (next(b for b in measured.best if b.task == t and b.metric.name == "psnr") for t in TASKS)
    assert worse.remarks[-1] == "not better than the measurement itself: 30.00"
    assert better.remarks[-1] == "the measurement itself: 5.000"


def test_pointwise_contrasts_are_the_comparisons_that_statistics_makes(record):
    assert len(record.pointwise) == 2 * 2 * 6
    found = []
    for one in record.pointwise:
        (a,), (b,) = one.cells_a, one.cells_b
        assert a.settings == b.settings
        found.append(paired(record.values(a, one.metric.name), record.values(b, one.metric.name)))
    expected = [replace(f, p_corrected=float(p)) for f, p in zip(found, holm([f.p_value for f in found]), strict=True)]
    assert [one.result for one in record.pointwise] == expected
    assert {one.comparisons for one in record.pointwise} == {24}


def test_a_table_of_contrasts_none_of_which_was_compared_counts_no_comparison(record):
    lost = [replace(one, result=None, comparisons=1) for one in record.contrasts]
    assert contrast_table(lost).caption.endswith("; none of these could be compared.")
    assert contrast_table([replace(record.contrasts[0], comparisons=1)]).caption.endswith("p of the only comparison.")


def test_lone_cells_are_compared_once():
    record = SweepRecord(ScoreTable(score_table(etas=(0.01,), gammas=(0.1,))))
    assert len(record.contrasts) == 4
    assert record.pointwise == []


def test_settings_tuned_for_an_arm_are_named():
    """They are no parameters of the grid, and the cells at one point of it differ in them."""
    table = score_table()
    rates = [15.0 if row["process"] == "star" and row["task"] == TASKS[0] else 20.0 for row in table.to_pylist()]
    kinds = {name: table.schema.field(name).type for name in ("task", "process", "eta_kl", "gamma")}
    schema = score_schema(["psnr", "lpips_vgg", "residual", "seconds"], {**kinds, "learning_rate": pa.float64()})
    tuned = SweepRecord(
        ScoreTable(table.append_column("learning_rate", pa.array(rates)).select(schema.names).cast(schema))
    )
    assert len(tuned.pointwise) == 2 * 2 * 6
    assert tuned.shown == ["eta_kl", "gamma"]
    assert tuned.set_apart == ["sr4-32: learning_rate 15 for star, 20 for markov"]


def test_an_unfinished_sweep_is_compared_on_what_both_have():
    table = score_table()
    gone = pc.and_(pc.equal(table["process"], "markov"), pc.equal(table["measurement"], "m003"))
    record = SweepRecord(ScoreTable(table.filter(pc.invert(gone))))
    assert {one.result.pairs for one in (*record.contrasts, *record.pointwise)} == {11}


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
    record = SweepRecord(ScoreTable(pa.Table.from_pylist(rows, schema=table.schema)))
    naive = max(record.of_task(TASKS[0]), key=lambda cell: cell.means["psnr"].mean)
    assert naive.label == "star, eta_kl=0.01, gamma=1"
    for best in record.best:
        assert best.cell.label == "star, eta_kl=0.01, gamma=0.1"
        assert (best.rivals, best.unranked, best.of_images) == (10, 1, "12")


def test_one_missing_image_keeps_a_cell_in_the_race_on_what_all_share():
    table = score_table(images=20)
    star = pc.ends_with(table["cell"], "star-0.01-0.1")
    gone = pc.and_(star, pc.equal(table["measurement"], "m007"))
    record = SweepRecord(ScoreTable(table.filter(pc.invert(gone))))
    for best in record.best:
        assert best.cell.label == "star, eta_kl=0.01, gamma=0.1"
        assert (best.rivals, best.unranked, best.of_images) == (11, 0, "19 of 20")
        rival = next(cell for cell in record.of_task(best.task) if cell is not best.cell)
        column = record.values(rival, best.metric.name)
        kept = column.values[column.measurements != "m007"]
        assert rival.ranked[best.metric.name] == pytest.approx(kept.mean())


def test_tables_without_arms_or_processes_have_one_arm():
    table = score_table(processes=("star",)).drop_columns(["process", "task"])
    kinds = {name: pa.float64() for name in ("eta_kl", "gamma")}
    schema = score_schema(["psnr", "lpips_vgg", "residual", "seconds"], kinds)
    record = SweepRecord(ScoreTable(table.select(schema.names).cast(schema)))
    assert (record.arms, record.tasks, record.contrasts) == ([""], ["all"], [])
    assert record.cells[0].label == record.cells[0].title
    assert headline(record) == "The best settings of every task"


def test_a_table_names_the_method_where_arms_do_not_say_it(four, record):
    header = cell_table(four).header
    assert header[:6] == ["task", "arm", "method", "prior", "eta_kl", "noise"]
    assert cell_table(record).header[:4] == ["task", "arm", "eta_kl", "gamma"]
    rows = {row[1]: row for row in cell_table(four).rows}
    assert rows["bicubic"][2:6] == ["bicubic", "-", "-", "-"]


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


def test_a_small_p_value_reads_the_same_on_the_page_and_in_tables(record):
    one = record.contrasts[0]
    small = replace(one, result=replace(one.result, p_corrected=0.0004))
    assert ", p < 0.001: star better" in small.words
    table = next(table for table in all_tables(record) if table.name == "contrasts")
    assert [row[5] for row in table.rows] == [p_shown(one.result.p_corrected) for one in record.contrasts]
    rare = contrast_table([small])
    assert "& $<$ 0.001 &" in latex(rare)  # plain < is another sign in LaTeX's usual fonts
    assert "| &lt; 0.001 |" in markdown(rare)
