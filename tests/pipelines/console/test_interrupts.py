"""SIGTERM ends a command as Ctrl-C does, with its own exit code, and only while the command runs."""

import os
import signal
import subprocess
import sys
import threading
from types import SimpleNamespace

import pytest

from pipelines import cli
from pipelines.console.interrupts import keeping_sigterm, sigterm_interrupts


@pytest.fixture
def command(monkeypatch):
    """A command that does what it is given."""

    def install(action):
        parser = SimpleNamespace(parse_args=lambda _: SimpleNamespace(command="status", run=action))
        monkeypatch.setattr(cli, "build_parser", lambda _: parser)

    return install


def terminate(_args):
    signal.raise_signal(signal.SIGTERM)
    return 0


def interrupt(_args):
    signal.raise_signal(signal.SIGINT)
    return 0


@pytest.mark.parametrize(("action", "code"), [(terminate, 143), (interrupt, 130), (lambda _: 1, 1)])
def test_exit_codes(command, capsys, action, code):
    before = signal.getsignal(signal.SIGTERM)
    command(action)
    assert cli.main(["status"]) == code
    assert ("the same command goes on" in capsys.readouterr().err) == (code > 2)
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_command_that_tells_of_its_interruption_itself_ends_with_the_same_code(command):
    def tell(args):
        try:
            return terminate(args)
        except KeyboardInterrupt:
            return 130

    command(tell)
    assert cli.main(["status"]) == 143


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_command_that_is_still_loading_ends_as_cleanly(monkeypatch, capsys, number, code):
    monkeypatch.setattr(cli, "build_parser", lambda _: signal.raise_signal(number))
    assert cli.main(["status"]) == code
    assert "the same command goes on" in capsys.readouterr().err


def test_another_thread_leaves_signals_alone(command):
    before, codes = signal.getsignal(signal.SIGTERM), []
    command(lambda _: 0 if signal.getsignal(signal.SIGTERM) is before else 1)
    thread = threading.Thread(target=lambda: codes.append(cli.main(["status"])))
    thread.start()
    thread.join()
    assert codes == [0]


def test_a_library_does_not_take_the_handler():
    with sigterm_interrupts():
        ours = signal.getsignal(signal.SIGTERM)
        with keeping_sigterm():
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        assert signal.getsignal(signal.SIGTERM) is ours


@pytest.mark.slow
def test_ray_does_not_take_the_handler():
    code = """
import signal
from pipelines.solve.devices import connect
from pipelines.console.interrupts import sigterm_interrupts
with sigterm_interrupts():
    ours = signal.getsignal(signal.SIGTERM)
    connect()
    assert signal.getsignal(signal.SIGTERM) is ours
"""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stderr
