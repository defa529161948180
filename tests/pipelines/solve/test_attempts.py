"""Work that takes its worker with it: what is remembered, who is blamed, when it is given up."""

import json
import subprocess
import sys
import time

import pytest

from operators import InputError
from pipelines.solve.attempts import DEATHS, HANGS, Attempts, Worker, forget, noted
from pipelines.solve.patience import patience
from pipelines.solve.solving import refuse_repeated, what_happened
from pipelines.solve.watchdog import Limit, watchdog
from pipelines.storage.sweep_folder import SweepFolder


@pytest.fixture
def folder(tmp_path):
    return SweepFolder(str(tmp_path))


def opened(folder, run="r", node="n", living=("n",)):
    return Attempts.open(folder, "s", Worker(run, f"cpu host:{node}", node, lambda: living))


def test_an_unfinished_attempt_counts_as_a_death(folder):
    opened(folder).begin(["a", "b"])
    again = opened(folder)
    assert (again.deaths("a"), again.deaths("b"), again.deaths("c"), again.hangs("a")) == (1, 1, 0, 0)
    again.begin(["b"])
    assert (opened(folder).deaths("a"), opened(folder).deaths("b")) == (1, 2)


def test_neither_a_lost_node_nor_another_run_is_blamed_on_the_work(folder):
    opened(folder, node="spot").begin(["a"])
    assert opened(folder, living=("n",)).deaths("a") == 0
    assert opened(folder, living=("n", "spot")).deaths("a") == 1
    assert opened(folder, run="later", living=("n", "spot")).deaths("a") == 0


def test_what_is_done_is_forgotten(folder):
    attempts = opened(folder)
    attempts.begin(["a"])
    attempts.done()
    assert noted(folder) == []
    attempts.done()  # once more does no harm
    opened(folder).begin(["a"])
    forget(folder)
    assert noted(folder) == []


def test_given_up_after_bounded_attempts_with_a_sentence(folder):
    for _ in range(DEATHS - 1):
        opened(folder).begin(["a", "b"])
    refuse_repeated(opened(folder), "a")
    opened(folder).begin(["a"])
    opened(folder).begin([])
    with pytest.raises(InputError, match=f"its worker died {DEATHS} times while solving it, on cpu host:n"):
        refuse_repeated(opened(folder), "a")
    refuse_repeated(opened(folder), "b")


def test_a_hang_is_named_with_its_ids_and_its_device(folder):
    for _ in range(HANGS):
        attempts = opened(folder)
        attempts.begin(["a", "b"])
        attempts.hung()
    after = opened(folder)
    assert (after.hangs("a"), after.deaths("a")) == (HANGS, 0)
    with pytest.raises(InputError, match=r"longer than resources\.batch_timeout 2 times, on cpu host:n"):
        refuse_repeated(after, "b")
    messages = what_happened("s", after)
    assert len(messages) == HANGS
    assert "shard s: a batch of 2 rows took longer than resources.batch_timeout on cpu host:n" in messages[0]
    assert messages[0].endswith("its ids are a, b")


def test_the_watchdog_ends_its_process_after_its_last_words(tmp_path):
    code = f"""
import time
from pathlib import Path
from pipelines.solve.watchdog import watchdog
with watchdog(30, lambda: None):
    pass
print("survived", flush=True)
with watchdog(0.5, lambda: Path({str(tmp_path / "words")!r}).write_text("hung")):
    time.sleep(60)
print("never", flush=True)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=50)
    assert (done.returncode, done.stdout) == (1, "survived\n")
    assert (tmp_path / "words").read_text() == "hung"


def test_the_watchdog_lets_work_be_that_is_quick_enough():
    with watchdog(None, lambda: pytest.fail("no limit was set")), watchdog(60, lambda: pytest.fail("it was quick")):
        time.sleep(0.01)


def test_auto_allows_many_times_what_the_like_has_taken():
    limit = Limit("auto")
    assert limit.seconds(100) is None
    limit.learn(work=100, seconds=1)
    assert limit.seconds(100) == 900
    limit.learn(work=100, seconds=200)
    limit.learn(work=100, seconds=2)
    assert limit.seconds(50) == pytest.approx(20 * 100)
    assert Limit(5.0).seconds(1) == 5.0
    assert Limit(None).seconds(1) is None


def test_silence_is_broken_by_what_is_being_worked_on(folder, capsys):
    opened(folder, run="r").begin(["a", "b", "c", "d"])
    with patience(folder, "r", lambda: "3 GPUs", seconds=0.2) as alive:
        alive()
        time.sleep(1)
    said = capsys.readouterr().err.splitlines()
    assert 1 <= len(said) <= 5
    assert "s on cpu host:n (4 rows: a, b, c ...); the cluster has 3 GPUs" in said[0]
    with patience(folder, "other", lambda: "0 GPUs", seconds=0.2):
        time.sleep(0.5)
    assert "no device works on this sweep; the cluster has 0 GPUs" in capsys.readouterr().err


def test_the_oldest_of_very_many_is_named(folder, capsys):
    for number in range(100, 0, -1):  # the last name by the alphabet is the oldest work
        Attempts.open(folder, f"s{number:03}", Worker("r", "gpu")).begin([f"row-{number}"])
    with patience(folder, "r", lambda: "100 GPUs", seconds=0.2):
        time.sleep(1)
    said = capsys.readouterr().err.splitlines()
    assert "100 devices at work" in said[0]
    assert "s100 on gpu (1 row: row-100)" in said[0]


def test_signs_of_life_keep_it_silent(folder, capsys):
    with patience(folder, "r", lambda: "", seconds=5) as alive:
        alive()
    assert capsys.readouterr().err == ""


def test_a_note_holds_what_a_person_would_look_for(folder):
    opened(folder).begin(["a"])
    note = json.loads(folder.store.read_bytes("attempts/s.json"))
    assert (note["running"]["items"], note["running"]["device"], note["run"]) == (["a"], "cpu host:n", "r")
