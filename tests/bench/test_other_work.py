"""What speaks against a time: work beside the bench, as long as the bench runs."""

import subprocess
import sys

import pytest

from bench import __main__ as command
from bench.other_work import OtherWork, OwnTime, Process
from bench.registry import Effort
from bench.result import read_result
from tests.bench.results import result

ROOT, CHILD, GRANDCHILD, STRANGER = range(100, 104)


class Machine:
    """Two cores whose clock and processes a test sets."""

    def __init__(self):
        self.idle = self.total = 0.0
        self.processes = {}
        self.spend(ROOT, 1, 0.0)
        self.spend(STRANGER, 1, 500.0)

    def spend(self, pid, parent, seconds, waited=0.0):
        self.processes[pid] = Process(pid, float(pid), parent, seconds, waited)

    def pass_(self, seconds, busy):
        """So many seconds, in which so many cores work."""
        self.total += 2 * seconds
        self.idle += (2 - busy) * seconds

    def other_work(self):
        return OtherWork(OwnTime(ROOT, lambda: self.processes.values()), lambda: (self.idle, self.total))


def test_a_quiet_start_does_not_hide_what_comes_later():
    machine = Machine()
    other = machine.other_work()
    machine.spend(CHILD, ROOT, 10.0)
    machine.pass_(10, busy=1)
    assert other.look() == pytest.approx(0)
    machine.spend(CHILD, ROOT, 40.0)
    machine.pass_(30, busy=2)  # a stranger takes the second core
    assert other.look() == pytest.approx(30 / 80)


def test_a_bench_that_keeps_all_cores_busy_itself_is_not_disturbed():
    machine = Machine()
    other = machine.other_work()
    machine.spend(CHILD, ROOT, 30.0)
    machine.spend(GRANDCHILD, CHILD, 30.0)
    machine.pass_(30, busy=2)
    assert other.look() == pytest.approx(0)


def test_processes_that_ended_stay_the_bench_s_own():
    machine = Machine()
    other = machine.other_work()
    machine.spend(CHILD, ROOT, 5.0)
    machine.spend(GRANDCHILD, CHILD, 20.0)
    machine.pass_(25, busy=1)
    assert other.look() == pytest.approx(0)
    machine.spend(GRANDCHILD, 1, 22.0)  # its parent has ended, and the root has asked how
    del machine.processes[CHILD]
    machine.spend(ROOT, 1, 0.0, waited=5.0)
    machine.pass_(2, busy=1)
    assert other.look() == pytest.approx(0)
    del machine.processes[GRANDCHILD]  # nobody asks
    machine.pass_(10, busy=0)
    assert other.look() == pytest.approx(0)
    machine.spend(GRANDCHILD, 1, 50.0)  # its number is given again, to a stranger
    machine.processes[GRANDCHILD] = machine.processes[GRANDCHILD]._replace(started=900.0)
    machine.pass_(50, busy=1)
    assert other.look() == pytest.approx(50 / 174)


def test_the_machine_s_own_figures_tell_a_child_from_a_stranger():
    """A process counts with its children, which are told apart from the processes of others by their parent alone."""
    words = [sys.executable, "-c", "import time\nwhile time.process_time() < 1: pass\ninput()"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        own, before = OwnTime(child.pid), 0.0
        while before < 0.9:  # ticks of user and system time are rounded down
            before = own()
        assert before < 2
        child.communicate(b"\n")
    assert own() == pytest.approx(before)  # it is gone, and the one who asked how is not one of its own


def test_a_bench_has_the_share_of_all_its_time(tmp_path, monkeypatch):
    class Other:
        looks = 0

        def look(self):
            self.looks += 1
            return 0.1 * self.looks

    other, started = Other(), []

    def start(words, **_):
        result("solver").write(tmp_path)
        started.append(words)
        return real([sys.executable, "-c", "import time; time.sleep(0.5)"])

    real = subprocess.Popen
    monkeypatch.setattr(command, "settle", lambda: None)
    monkeypatch.setattr(command, "OtherWork", lambda: other)
    monkeypatch.setattr(command, "_LOOK_SECONDS", 0.05)
    monkeypatch.setattr(subprocess, "Popen", start)
    monkeypatch.setattr(command, "result_path", lambda folder, name: tmp_path / "none.json")
    measured = command.run_alone("solver", Effort(), tmp_path)
    assert other.looks > 2
    assert measured.busy == pytest.approx(0.1 * other.looks)
    assert read_result(tmp_path, "solver") == measured
