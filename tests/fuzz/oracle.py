"""What holds for every command and every input: it succeeds or says a sentence, soon, in bounds, and keeps secrets."""

import contextlib
import io
import os
import resource
import time
import unicodedata
from dataclasses import dataclass

from pipelines import cli

SECRET = "hunter2correcthorse"
"""Planted where credentials go; nothing may print it or write it down."""

PATIENCE = 120
"""Seconds for one command on tiny inputs, on a busy machine."""

LONGEST_SENTENCE = 3000
ROOM = 4 * 2**30
"""Bytes of address space a command may add."""


@dataclass(frozen=True)
class Outcome:
    """How a command ended."""

    code: int
    out: str
    err: str


def g2d2(*words):
    """Run the command in this process and hold it to what every command promises."""
    words = [str(word) for word in words]
    out, err, started = _stream("strict"), _stream("backslashreplace"), time.monotonic()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), _bounded_memory():
        try:
            code = cli.main(words)
        except SystemExit as end:  # argparse refuses so
            code = end.code
    outcome = Outcome(code, _text(out), _text(err))
    _check(words, outcome, time.monotonic() - started)
    return outcome


def _stream(errors):
    """As Python opens a terminal or a pipe: not every string can be written to it."""
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors=errors, write_through=True)


def _text(stream):
    return stream.buffer.getvalue().decode()


def _check(words, outcome, seconds):
    text = outcome.out + outcome.err
    where = f"g2d2 {' '.join(words)}\n{text}"
    assert outcome.code in (0, 1, 2), where
    assert "Traceback" not in text, where
    assert "errors.pydantic.dev" not in text, where
    assert SECRET not in text, where
    assert seconds < PATIENCE, f"{seconds:.0f} s: {where}"
    assert outcome.code == 0 or text.strip(), f"code {outcome.code} and not a word: {where}"
    sentences = [line for line in outcome.err.splitlines() if line.startswith(f"g2d2 {words[0]}: ")]
    for sentence in sentences:
        assert len(sentence) < LONGEST_SENTENCE, f"{len(sentence)} characters: {sentence[:500]}"
        assert not any(unicodedata.category(sign) == "Cc" for sign in sentence), repr(sentence)
    assert len(sentences) <= 1, where


def no_secret_in(folder):
    """No file below holds the secret."""
    for place, _, files in os.walk(folder):
        for name in files:
            path = os.path.join(place, name)
            with open(path, "rb") as file:
                assert SECRET.encode() not in file.read(), path


@contextlib.contextmanager
def _bounded_memory():
    """What would take the whole machine raises MemoryError here."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm") as file:
        size = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + ROOM, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
