"""Arms side by side: honest bold, contrasts, costs, and a warning where solving gained nothing."""

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from eval.distribution.results import CellDistance
from eval.record import SweepRecord
from eval.record.headline import worse_than_nothing
from eval.record.leaderboard import leaderboard
from eval.record.measured import real_column
from eval.record.typeset import latex, markdown
from eval.record.word_tables import MEASURED, REAL, WordTable, best_table, cell_table
from eval.scores import ScoreTable
from tests.eval.record.score_cases import four_arms

ARMS = ["star", "markov", "wiener", "bicubic"]


def twins():
    """The table of four arms with a copy of star under another name."""
    table = four_arms(images=8)
    star = table.filter(pc.equal(table["arm"], "star"))
    for name, words in (("arm", ["twin"] * len(star)), ("cell", [f"{one}t" for one in star["cell"].to_pylist()])):
        star = star.set_column(star.schema.get_field_index(name), name, pa.array(words, table.schema.field(name).type))
    return pa.concat_tables([table, star])


def record_of(table, level=None):
    record = SweepRecord(ScoreTable(table), arms=ARMS, compare="markov")
    if level is None:
        return record
    rows = [
        {"task": task, "measurement": str(name), "psnr": level}
        for task in record.tasks
        for name in sorted(set(record.values(record.of_task(task)[0], "psnr").measurements))
    ]
    return SweepRecord(ScoreTable(table), arms=ARMS, compare="markov", measured=pa.Table.from_pylist(rows))


@pytest.fixture(scope="module")
def record():
    return record_of(twins())


def test_an_arm_that_equals_the_best_is_as_bold_as_it(record):
    board = leaderboard(record)
    for column, title in enumerate(board.header):
        bold = {(board.rows[line][0], board.rows[line][1]) for line, place in board.bold if place == column}
        if "psnr" in title:
            assert {task for task, _ in bold} == set(record.tasks)
        assert {task for task, arm in bold if arm == "star"} == {task for task, arm in bold if arm == "twin"}
    assert 0 < len(board.bold) < len(board.rows) * len(record.judged)


def test_arms_are_in_the_order_of_the_first_metric(record):
    board = leaderboard(record)
    column = board.header.index("psnr ↑")
    for task in record.tasks:
        means = [float(row[column].split()[0]) for row in board.rows if row[0] == task]
        assert means == sorted(means, reverse=True)
        assert len(means) == 5


def test_differences_are_those_of_the_contrasts(record):
    board = leaderboard(record)
    column = board.header.index("psnr ↑") + 1
    assert board.header[column] == "minus markov"
    told = {(row[0], row[1]): row[column] for row in board.rows}
    for one in record.contrasts:
        if one.metric.name == "psnr":
            assert told[one.task, one.a].startswith(f"{one.result.difference.mean:+.4g}"[:5])
        assert told[one.task, "markov"] == "baseline"


def test_latex_has_bold_bests_a_label_and_the_row_of_the_measurement():
    board = leaderboard(record_of(four_arms(images=8), level=1.0))
    text = latex(board)
    assert text.count(r"\textbf{") == len(board.bold)
    assert r"\label{tab:leaderboard}" in text
    assert text.count(f"{MEASURED} &") == 2
    assert markdown(board).count("**") == 2 * len(board.bold)


def test_latex_says_once_what_all_rows_have_and_sets_intervals_below_means():
    rows = [["sr", "star", "g2d2", "24.18 [22.55, 27.11]"], ["sr", "the measurement itself", "-", "-"]]
    text = latex(WordTable("t", "All of it.", ["task", "arm", "method", "psnr_db"], rows, frozenset({(0, 3)})))
    assert "All of it. In all rows: task sr, method g2d2." in text
    assert r"\begin{tabular}{lr}" in text
    assert r"star & \shortstack[r]{\textbf{24.18}\\{\scriptsize [22.55, 27.11]}} \\" in text
    assert r"arm & psnr\_db \\" in text


def test_costs_stand_beside_the_quality_that_they_buy(record):
    """Also of four arms, of which some have no difference to the baseline; the measurement itself costs nothing."""
    board = leaderboard(record_of(four_arms(images=8), level=1.0))
    assert board.header == [
        "task", "arm", "method", "prior", "psnr ↑", "minus markov", "calls", "s/image", "GiB", "lpips_vgg ↓",
        "minus markov",
    ]  # fmt: skip
    told = [dict(zip(board.header[:9], row, strict=False)) for row in board.rows]
    assert {row["s/image"] for row in told if row["arm"] in ARMS} == {"2.00"}
    first = next(row for row in told if row["arm"] == MEASURED)
    assert (first["psnr ↑"], first["s/image"], first["minus markov"]) == ("1.000 [1.000, 1.000]", "-", "-")


def test_a_narrow_table_says_in_its_caption_what_all_rows_have():
    rows = [["sr", "star", "g2d2", "24.18"], ["sr", "markov", "g2d2", "23.1"], ["sr", MEASURED, "-", "22.0"]]
    whole = WordTable("t", "All of it.", ["task", "arm", "method", "psnr"], rows, frozenset({(0, 3)}))
    narrow = whole.narrowed
    assert (narrow.header, narrow.rows[0], narrow.bold) == (["arm", "psnr"], ["star", "24.18"], {(0, 1)})
    assert narrow.caption == "All of it. In all rows: task sr, method g2d2."
    assert narrow.narrowed is narrow


def test_cells_that_tie_with_the_best_are_bold_too(record):
    table = cell_table(record)
    bold = {table.rows[line][1] for line, _ in table.bold}
    assert ("star" in bold) == ("twin" in bold)
    assert bold


def test_the_truths_have_a_row_and_nothing_is_judged_by_it():
    """Of every task that has any, with the numbers of its set; also where they are better than every arm."""
    table = four_arms(images=8)
    plain = SweepRecord(ScoreTable(table), arms=ARMS, compare="markov")
    first, second = plain.tasks
    cell = plain.of_task(first)[0]
    seen = sorted(set(plain.values(cell, "psnr").measurements))
    rows = [{"task": first, "measurement": name, real_column("psnr"): 90.0 + at} for at, name in enumerate(seen)]
    distances = {
        plain.of_task(first)[0].id: {"diversity_cmu": CellDistance("diversity_cmu", 1.0, 7, 8, of_truth=1.3)},
        plain.of_task(first)[1].id: {"diversity_cmu": CellDistance("diversity_cmu", 1.1, 8, 8, of_truth=1.2)},
        plain.of_task(second)[0].id: {"diversity_cmu": CellDistance("diversity_cmu", 1.1, 8, 8, of_truth=1.5)},
    }
    record = SweepRecord(
        ScoreTable(table), arms=ARMS, compare="markov", measured=pa.Table.from_pylist(rows), distances=distances
    )
    assert record.real[first]["psnr"].mean == 93.5
    assert record.measurements == {}
    cells = cell_table(record)
    real = {row[0]: dict(zip(cells.header, row, strict=True)) for row in cells.rows if row[1] == REAL}
    assert real[first]["psnr ↑"].startswith("93.5")
    assert (real[first]["diversity_cmu"], real[first]["n"]) == ("1.200", "8"), "of the cell with most of them"
    assert (real[second]["psnr ↑"], real[second]["diversity_cmu"], real[second]["n"]) == ("-", "1.500", "-")
    board = leaderboard(record)
    assert [row[0] for row in board.rows if row[1] == REAL] == [first, second]
    best = best_table(record)
    assert best.header[-1] == REAL
    assert {(row[0], row[1]): row[-1] for row in best.rows}[first, "psnr"] == "93.50"
    assert "the real ones: 93.50" in next(one for one in record.best if one.metric.name == "psnr").remarks
    assert worse_than_nothing(record) == []
    assert [one.cell.id for one in record.best] == [one.cell.id for one in plain.best]
    assert cells.bold == cell_table(SweepRecord(ScoreTable(table), arms=ARMS, compare="markov")).bold


def test_arms_that_are_no_better_than_the_measurement_are_warned_of():
    assert worse_than_nothing(record_of(four_arms(images=8), level=1.0)) == []
    sentences = worse_than_nothing(record_of(four_arms(images=8), level=99.0))
    assert len(sentences) == 2
    assert all(arm in sentence for arm in ARMS for sentence in sentences)
    assert sentences[0].endswith(" gained nothing by psnr, the measurement itself has 99.00")


def test_what_ties_with_the_best_is_not_bold_where_the_measurement_is_better_than_it():
    """Few noisy images do not tell star from markov, but the measurement lies between their means."""
    table = four_arms(images=8)
    noise = [(int(item.rsplit("-", 1)[1]) % 2) * 8.0 * ("star" in item) for item in table["item"].to_pylist()]
    place = table.column_names.index("psnr")
    table = table.set_column(place, "psnr", pc.subtract(table["psnr"], pa.array(noise)))
    plain = record_of(table)
    board = leaderboard(plain)
    column = board.header.index("psnr ↑")
    means = {row[1]: float(row[column].split()[0]) for row in board.rows if row[0] == plain.tasks[0]}
    tied = {board.rows[line][1] for line, at in board.bold if at == column}
    assert tied == {"star", "markov"}
    worst, best = sorted(tied, key=means.__getitem__)
    record = record_of(table, level=(means[worst] + means[best]) / 2)
    for one in (leaderboard(record), cell_table(record)):
        bold = {row[1] for line, row in enumerate(one.rows) if (line, one.header.index("psnr ↑")) in one.bold}
        assert bold == {best}
        assert "; nothing is bold that is not better than the measurement itself." in one.caption
    (sentence, *_) = worse_than_nothing(record)
    assert best not in sentence
    assert f"{worst} {means[worst]:.2f}" in sentence
