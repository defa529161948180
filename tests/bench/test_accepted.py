"""Only a whole run of one commit, machine and level is accepted."""

import pytest

from bench.accepted import ACCEPTED, accept, read_accepted
from bench.registry import MOST_MINUTES, SUITE
from operators import InputError
from tests.bench.results import ratio, result

NAMES = ["solver", "gate"]


def written(folder, **changes):
    result("solver", seconds=100.0, date="2026-11-17").write(folder)
    result("gate", ratio("false alarms", 0.01, 0.05, "lower", ""), **changes).write(folder)
    return folder


def test_what_is_accepted_is_read_again(tmp_path):
    accepted = accept(written(tmp_path), NAMES)
    assert (accepted.commit, accepted.date, accepted.level) == ("abc", "2026-11-18", "normal")
    assert accepted.benches["solver"].ratios == {"times faster": 5.0}
    assert accepted.benches["solver"].seconds == 100.0
    accepted.write(tmp_path / "accepted.json")
    assert read_accepted(tmp_path / "accepted.json") == accepted


def test_nothing_accepted_yet(tmp_path):
    assert read_accepted(tmp_path / "accepted.json") is None


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"error": "OSError: full"}, r"bench 'gate' failed \(OSError: full\)"),
        ({"commit": "def"}, r"solver and gate differ in commit \(abc -> def\)"),
        ({"threads": 1}, r"solver and gate differ in machine \(threads 2 -> 1\)"),
    ],
)
def test_refusals(changes, sentence, tmp_path):
    with pytest.raises(InputError, match=sentence):
        accept(written(tmp_path, **changes), NAMES)


def test_a_bench_without_result_is_named(tmp_path):
    with pytest.raises(InputError, match="no result of bench 'chaos'"):
        accept(written(tmp_path), [*NAMES, "chaos"])


def test_the_repository_s_own_is_of_benches_that_there_are():
    accepted = read_accepted()
    if accepted is None:
        pytest.skip(f"no {ACCEPTED.name} in the repository yet")
    assert accepted.level == "normal"
    assert accepted.benches.keys() <= set(SUITE)
    assert sum(one.seconds for one in accepted.benches.values()) < 60 * MOST_MINUTES
