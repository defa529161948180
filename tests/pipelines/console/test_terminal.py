"""Stdout holds results and nothing else, and stderr no line that is not wanted, however they are printed."""

import subprocess
import sys
from pathlib import Path

from pipelines.console.terminal import command

SCRIPT = """
import os, subprocess, sys
from pipelines.console.terminal import results_alone

print("before")
try:
    with results_alone():
        print("from python")
        os.write(1, b"from the descriptor\\n")
        subprocess.run([sys.executable, "-c", "print('from a process')"])
        sys.stdout.flush()
        if sys.argv[1:]:
            raise ValueError
except ValueError:
    pass
print('{"a": 1}')
"""
NOTHING = "from pipelines.console.terminal import results_alone\nwith results_alone(): print(1)"


def stdout_and_stderr(*words):
    done = subprocess.run([sys.executable, "-c", SCRIPT, *words], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def test_only_what_is_printed_outside_reaches_stdout():
    for words in ([], ["fail"]):
        out, err = stdout_and_stderr(*words)
        assert out == 'before\n{"a": 1}\n'
        assert all(line in err for line in ("from python", "from the descriptor", "from a process"))


def test_a_closed_stdout_is_no_error():
    closed = subprocess.run(
        f"{sys.executable} -c '{NOTHING}' >&-", shell=True, stderr=subprocess.PIPE, text=True, timeout=120
    )
    assert (closed.returncode, closed.stderr) == (0, "")


def test_unwanted_lines_stay_off_stderr_and_the_others_come_through_even_after_an_error():
    script = """
import os, sys
from pipelines.console.terminal import without_lines

with without_lines("chatter"):
    os.write(2, b"a warning\\nsome chatter\\n")
    print("another", file=sys.stderr, flush=True)
    raise ValueError("told as well")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.stderr.startswith("a warning\nanother\n")
    assert "ValueError: told as well" in done.stderr
    assert "chatter\n" not in done.stderr


def test_a_command_is_named_as_the_shell_at_hand_finds_it(monkeypatch, tmp_path):
    own = Path(sys.executable).parent
    monkeypatch.setenv("PATH", str(own))
    assert command("g2d2") == "g2d2"
    monkeypatch.setenv("PATH", str(tmp_path))
    assert command("g2d2") == str(own / "g2d2")
    (tmp_path / "g2d2").write_text("#!/bin/sh\n")
    (tmp_path / "g2d2").chmod(0o755)
    assert command("g2d2") == str(own / "g2d2")  # another environment's would not see what this one made
