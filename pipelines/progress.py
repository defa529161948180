"""Progress of long work: a bar on a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from tqdm import tqdm

SECONDS_BETWEEN_LINES = 15.0


class Progress(Protocol):
    """Told how much is done; tells a person."""

    def update(self, count: int) -> object:
        """`count` more units are done."""


class Lines:
    """Plain lines, far enough apart to keep logs readable."""

    def __init__(self, total: int, label: str, before: int = 0):
        self.total, self.label, self.before, self.done = total, label, before, before
        self.started = self.last = time.monotonic()

    def update(self, count: int) -> None:
        self.done += count
        now = time.monotonic()
        if now - self.last >= SECONDS_BETWEEN_LINES:
            self.last = now
            left = (now - self.started) / (self.done - self.before) * (self.total - self.done)
            print(f"{self.label}: {self.done} of {self.total}, {left:.0f} s left", file=sys.stderr, flush=True)


@contextmanager
def progress(total: int, label: str, before: int = 0) -> Iterator[Progress]:
    """Something with `update(count)` that tells a person on stderr how far the work is; `before` was done earlier."""
    if not sys.stderr.isatty():
        yield Lines(total, label, before)
        return
    with tqdm(total=total, initial=before, desc=label, file=sys.stderr, dynamic_ncols=True) as bar:
        yield bar
