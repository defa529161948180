"""Cells that left a race beside those that stayed: what is ranked, contrasted and marked."""

import pyarrow as pa
import pytest

from eval.record import SweepRecord
from eval.record.boards import Entrant, boards
from eval.record.confirming import confirmed_on
from eval.record.leaderboard import leaderboard
from eval.record.race_words import Confirmation, RaceWords
from eval.record.word_tables import best_table, cell_table, contrast_table
from eval.report.chart_rows import cell_rows
from eval.report.shown_cells import picture_rows
from eval.scores import ScoreTable
from tests.eval.record.score_cases import score_table

WINNER, STAYED = "sr4-star-0.01-0.1", "sr4-star-0.001-0.1"
SEEN, ASIDE, LEFT = 16, 4, 6


def cut(table, kept):
    """The first task's rows of which `kept(cell, number of the measurement)` says that they were solved."""
    rows = [
        row for row in table.to_pylist() if row["task"] == "sr4-32" and kept(row["cell"], int(row["measurement"][1:]))
    ]
    for row in rows:
        row["psnr"] += 20 * (int(row["measurement"][1:]) < LEFT)  # what all have seen is easy
    return pa.Table.from_pylist(rows, schema=table.schema)


@pytest.fixture(scope="module")
def record():
    """Star's best cell won, one stayed to the end, all others left after six easy measurements."""
    ends = {WINNER: SEEN + ASIDE, STAYED: SEEN}
    table = cut(score_table(images=SEEN + ASIDE), lambda cell, number: number < ends.get(cell, LEFT))
    cells = set(table["cell"].to_pylist())
    marks = dict.fromkeys(cells, f"left after {LEFT}") | {WINNER: "won", STAYED: "in"}
    aside = frozenset(f"d{number}" for number in range(SEEN, SEEN + ASIDE))
    race = RaceWords(
        marks, frozenset(cells - set(ends)), [Confirmation("sr4-32", WINNER, ASIDE, {}, aside)], "psnr"
    )  # fmt: skip
    return SweepRecord(ScoreTable(table), compare="markov", race=race)


def test_cells_that_left_have_the_better_means_and_are_not_ranked(record):
    assert record.cell(WINNER).means["psnr"].mean < min(
        cell.means["psnr"].mean for cell in record.cells if cell.id not in (WINNER, STAYED)
    )
    assert {cell.id for cell in record.cells if "psnr" in cell.ranked} == {WINNER, STAYED}
    for best in record.best:
        assert (best.cell.id, best.rivals, best.unranked, best.few) == (WINNER, 1, 10, 0)
        assert "10 cells left the race before" in best.remarks
        assert not any("too few values" in remark for remark in best.remarks)


def test_those_that_stayed_are_ranked_on_what_both_saw(record):
    for cell in (WINNER, STAYED):
        values = record.values(record.cell(cell), "psnr").values[:SEEN]
        assert record.cell(cell).ranked["psnr"] == pytest.approx(values.mean())


def test_every_table_and_chart_marks_who_left(record):
    gone = f"left after {LEFT}"
    assert [row[-1] for row in cell_table(record).rows].count(gone) == 10
    contrast = contrast_table(record.contrasts)
    assert all(gone in row[3] for row in contrast.rows)
    assert [row[2] for row in best_table(record).rows] == [record.cell(WINNER).label] * 2
    notes = {row["cell"]: row["note"] for row in cell_rows(record) if row["metric"] == "psnr"}
    assert notes[WINNER] == record.cell(WINNER).label
    assert sum(gone in note for note in notes.values()) == 10
    best = min((row for row in cell_rows(record) if row["metric"] == "psnr"), key=lambda row: row["place"])
    assert best["cell"] == WINNER


def test_an_arm_that_lost_all_its_cells_comes_last_and_says_so(record):
    board = leaderboard(record)
    race = board.header.index("race")
    assert [(row[1], row[race]) for row in board.rows] == [("star", "won"), ("markov", f"left after {LEFT}")]


def test_arms_are_contrasted_on_what_the_one_that_left_saw_with_all_cells_that_saw_it(record):
    for one in record.contrasts:
        assert one.result.pairs == LEFT
        assert one.chosen  # from all cells, so that the winner is not judged by what made it one
        assert all(cell.left for cell in one.cells_b)


def test_winners_of_races_apart_are_contrasted_where_neither_was_chosen():
    rival = "sr4-markov-0.01-0.1"
    won = {WINNER, rival}
    table = cut(score_table(images=20), lambda cell, number: number < LEFT or cell in won)
    marks = {cell: "won" if cell in won else f"left after {LEFT}" for cell in set(table["cell"].to_pylist())}
    asides = {WINNER: range(10, 20), rival: range(14, 20)}
    words = [
        Confirmation(cell, cell, len(own), {}, frozenset(f"d{number}" for number in own))
        for cell, own in asides.items()
    ]
    record = SweepRecord(
        ScoreTable(table), compare="markov", race=RaceWords(marks, frozenset(set(marks) - won), words, "psnr")
    )
    for one in record.contrasts:
        assert one.result.pairs == 6
        assert not one.chosen
        assert ([cell.id for cell in one.cells_a], [cell.id for cell in one.cells_b]) == ([WINNER], [rival])


def test_a_picture_that_a_cell_was_not_to_solve_is_not_called_failed(record):
    rows = picture_rows(record)
    late = [row for row in rows if int(row.measurement[1:]) >= LEFT]
    gone = {cell.id for cell in record.cells if cell.left}
    assert late
    for row in rows:
        assert set(row.unasked) == {cell for cell in row.values if row in late and cell in gone}


def test_sweeps_side_by_side_keep_the_marks(record):
    whole = SweepRecord(ScoreTable(cut(score_table(images=SEEN + ASIDE), lambda cell, number: True)), compare="markov")
    (board,) = boards([Entrant("raced", record), Entrant("whole", whole)])
    marked = {cell.id for cell in board.record.cells if cell.left}
    assert marked == {f"raced/{cell.id}" for cell in record.cells if cell.left}
    assert not any("psnr" in cell.ranked for cell in board.record.cells if cell.left)


def best_arm(arm):
    """The arm's cell that is best of all."""
    return f"sr4-{arm}-0.01-0.1"


def race_of(arm, seen, aside, images=44):
    """A sweep of one arm whose best cell won after it had seen so many; the last ones confirm it."""
    winner = best_arm(arm)
    confirming = range(images - aside, images)
    table = cut(
        score_table(images=images, processes=(arm,)),
        lambda cell, number: number < seen if cell != winner else number < seen or number in confirming,
    )
    cells = set(table["cell"].to_pylist())
    words = [Confirmation("sr4-32", winner, aside, {}, frozenset(f"d{number}" for number in confirming))] * bool(aside)
    marks = dict.fromkeys(cells, f"left after {seen}") | {winner: "won"}
    return SweepRecord(ScoreTable(table), race=RaceWords(marks, frozenset(cells - {winner}), words, "psnr"))


def whole_of(arm, images=44):
    return SweepRecord(ScoreTable(cut(score_table(images=images, processes=(arm,)), lambda cell, number: True)))


def test_winners_of_two_raced_sweeps_are_contrasted_where_neither_was_chosen():
    sweeps = [Entrant("star", race_of("star", 24, 20)), Entrant("markov", race_of("markov", 40, 4))]
    (board,) = boards(sweeps)
    for one in board.record.contrasts:
        assert one.result.pairs == 4
        assert not one.chosen
    star, markov = (board.record.best_of("sr4-32", board.record.judged[0], arm) for arm in ("star", "markov"))
    assert (star.id, markov.id) == (f"star/{best_arm('star')}", f"markov/{best_arm('markov')}")
    best = next(one for one in board.record.best if one.metric.name == "psnr")
    own = board.record.values(best.cell, "psnr").values[24:]
    assert best.confirmed.mean == pytest.approx(own.mean())
    assert [one.race for one in board.record.race.confirmations] == ["star, sr4-32", "markov, sr4-32"]


def test_the_winner_of_a_race_is_held_against_a_whole_sweep_where_it_was_not_chosen():
    (board,) = boards([Entrant("raced", race_of("star", 24, 20)), Entrant("whole", whole_of("markov"))])
    for one in board.record.contrasts:
        assert one.result.pairs == 20
        assert one.chosen  # of the whole sweep's cells, by halves of these measurements
        assert {cell.id for cell in (*one.cells_a, *one.cells_b)} >= {f"raced/{best_arm('star')}"}


def test_a_winner_that_lost_what_confirms_it_to_the_other_sweep_is_chosen_by_halves():
    """Only what both sweeps saw is compared: the last twenty measurements are not of these."""
    (board,) = boards([Entrant("raced", race_of("star", 24, 20)), Entrant("whole", whole_of("markov", images=24))])
    assert [one.digests for one in board.record.race.confirmations] == [frozenset()]
    assert all(one.chosen and one.result.pairs == 24 for one in board.record.contrasts)
    assert all(best.confirmed is None for best in board.record.best)


def test_a_race_that_went_to_its_end_is_held_against_one_that_did_not_where_that_ones_winner_is_confirmed():
    (board,) = boards([Entrant("ended", race_of("star", 44, 0)), Entrant("early", race_of("markov", 30, 14))])
    for one in board.record.contrasts:
        assert one.result.pairs == 14
        assert one.chosen


def test_winners_that_nothing_confirms_together_are_not_compared():
    early, late = race_of("star", 24, 20), race_of("markov", 24, 20)
    other = Confirmation("sr4-32", best_arm("markov"), 20, {}, frozenset(f"d{number}" for number in range(20)))
    late.race = RaceWords(late.race.marks, late.race.unranked, [other], "psnr")
    (board,) = boards([Entrant("star", early), Entrant("markov", late)])
    assert board.record.contrasts
    assert all(one.result is None and one.reason for one in board.record.contrasts)


def test_the_confirmed_mean_says_how_many_of_its_measurements_were_scored():
    table = race_of("star", 24, 20).scores.table.to_pylist()
    for row in table:
        if int(row["measurement"][1:]) >= 36:
            row["psnr"], row["error"] = None, "it failed"
    scores = ScoreTable(pa.Table.from_pylist(table, schema=race_of("star", 24, 20).scores.table.schema))
    one = confirmed_on(scores, "sr4-32", best_arm("star"), [f"d{number}" for number in range(24, 44)])
    assert "confirmed on 12 of 20 measurements that took no part" in one.sentence("star", "psnr", "dB")
