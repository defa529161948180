"""The table at the end: goals, what changed since the accepted run, and what speaks against comparing."""

import pytest

from bench.accepted import accept
from bench.ratio_table import change, summary
from tests.bench.results import MACHINE, ratio, result


def accepted(folder, *results):
    for one in results:
        one.write(folder)
    return accept(folder, [one.bench for one in results])


def lines(results, before=None):
    """The lines of the table, cells split where two spaces part them, and the sentences below it."""
    table, _, below = summary(results, before).partition("\n\n")
    split = [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in table.splitlines()]
    return split, below.splitlines()


def test_every_ratio_stands_beside_its_goal_and_what_was_accepted(tmp_path):
    before = accepted(tmp_path, result("solver", ratio(value=4.0), ratio("share", 0.5, 0.6, "lower", "")))
    table, below = lines([result("solver", ratio(value=5.0), ratio("share", 0.55, 0.6, "lower", ""))], before)
    assert table == [
        ["bench", "ratio", "value", "goal", "met", "accepted", "change"],
        ["solver", "times faster", "5.00 times", ">= 6", "NO", "4.00", "+25 % better"],
        ["solver", "share", "0.550", "<= 0.6", "yes", "0.500", "+10 % worse"],
    ]
    assert below == [
        "goals: 1 of 2 met",
        "accepted: commit abc of 2026-11-18, level normal",
        "accepted: on a machine of the same kind",
        "1 bench in 1.0 minutes, load up to 1.5",
    ]


@pytest.mark.parametrize(
    ("value", "better", "before", "text"),
    [
        (5.0, "higher", {"times faster": 5.01}, "same"),
        (5.0, "higher", {"times faster": 10.0}, "-50 % worse"),
        (5.0, "lower", {"times faster": 10.0}, "-50 % better"),
        (0.02, "lower", {"times faster": 0.0}, "+0.02 worse"),
        (0.0, "lower", {"times faster": 0.0}, "same"),
        (-1.0, "higher", {"times faster": -2.0}, "+50 % better"),
        (5.0, "higher", {}, "new"),
        (5.0, "higher", {"times faster": None}, "new"),
        (None, "higher", {"times faster": 5.0}, "not measured"),
        (None, "higher", {}, "-"),
    ],
)
def test_change(value, better, before, text):
    assert change(ratio(value=value, better=better), before) == text


def test_ratios_that_are_no_longer_measured_are_told(tmp_path):
    before = accepted(tmp_path, result("solver", ratio("old"), ratio()), result("gate", ratio("false alarms")))
    table, _ = lines([result("solver", ratio(), ratio("newer"))], before)
    assert [(line[1], line[-1]) for line in table[1:]] == [
        ("times faster", "same"),
        ("newer", "new"),
        ("old", "gone"),
    ]  # and nothing of the bench that did not run


def test_a_bench_that_failed_is_named_with_its_reason(tmp_path):
    before = accepted(tmp_path, result("solver", ratio(), ratio("share")))
    table, below = lines([result("solver", error="RuntimeError: no"), result("gate")], before)
    assert table[1] == ["solver", "failed", "-", "-", "-", "-", "2 not compared"]
    assert table[2][0] == "gate"
    assert below[-1] == "failed: solver: RuntimeError: no"


def test_another_machine_is_told(tmp_path):
    before = accepted(tmp_path, result())
    other = MACHINE.model_copy(update={"cores": 8, "torch": "2.14.0"})
    _, below = lines([result(machine=other)], before)
    assert below[2].startswith("accepted: on another machine (cores 2 -> 8; torch 2.13.0 -> 2.14.0)")


def test_work_beside_a_bench_is_told_then_and_now(tmp_path):
    before = accepted(tmp_path, result("solver", busy=0.5, load=(3.0, 3.0)), result("gate"))
    table, below = lines([result("solver"), result("gate", busy=0.9, load=(7.25, 2.0))], before)
    assert [line[0] for line in table[1:]] == ["solver", "gate *"]
    assert [line[5] for line in table[1:]] == ["5.00 *", "5.00"]
    assert [line for line in below if line.startswith("*")] == [
        "* gate: other work kept 90 % of the cores busy (load 7.2); its times tell little",
        "* solver when it was accepted: other work kept 50 % of the cores busy (load 3.0); its times tell little",
    ]


def test_levels_are_not_compared_with_each_other(tmp_path):
    before = accepted(tmp_path, result())
    table, below = lines([result(level="quick")], before)
    assert table[1] == ["solver", "times faster", "5.00 times", ">= 6", "-", "-"]  # neither judged nor compared
    assert below[0].startswith("goals: not judged")
    assert below[2] == "accepted: not compared, since this run is of level quick"


def test_without_an_accepted_run_the_table_says_how_to_have_one():
    table, below = lines([result("solver", ratio(value=None))])
    assert table[1] == ["solver", "times faster", "-", ">= 6", "-", "-"]
    assert below[0] == "goals: 0 of 0 met; 1 could not be measured here"
    assert "--accept" in below[1]
