"""Progress of long work: a bar on a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from tqdm import tqdm

SECONDS_BETWEEN_LINES = 15.0


class Progress(Protocol):
    """Shows a person how much is done."""

    def update(self, count: int) -> object:
        """`count` more units are done."""

    def drop(self, count: int) -> None:
        """`count` units will not be needed."""

    def note(self, words: str) -> None:
        """What stands beside the count from now on."""


class Lines:
    """Plain lines, far enough apart to keep logs readable."""

    def __init__(self, total: int, label: str, before: int = 0):
        self.total, self.label, self.before, self.done = total, label, before, before
        self.started = self.last = time.monotonic()
        self.under_way, self.words = False, ""

    def update(self, count: int) -> None:
        self.done += count
        now = time.monotonic()
        if now - self.last >= SECONDS_BETWEEN_LINES:
            self.last = now
            beside = f"; {self.words}" if self.words else ""
            print(f"{self.label}: {self.done} of {self.total}{self._left(now)}{beside}", file=sys.stderr, flush=True)
        if not self.under_way:  # the time before the first unit went into starting up
            self.under_way, self.started, self.before = True, now, self.done

    def drop(self, count: int) -> None:
        self.total -= count

    def note(self, words: str) -> None:
        self.words = words

    def _left(self, now: float) -> str:
        """From the first unit on, which came after starting up: more than that rate will not be needed."""
        if self.done in (self.before, self.total):
            return ""
        seconds = (now - self.started) / (self.done - self.before) * (self.total - self.done)
        return f", {'' if self.under_way else 'at most '}{seconds:.0f} s left"


class Bar(tqdm):  # type: ignore[type-arg]
    """A bar on a terminal."""

    def drop(self, count: int) -> None:
        """The bar ends that much earlier."""
        self.total = (self.total or 0) - count
        self.refresh()

    def note(self, words: str) -> None:
        """Behind the rate."""
        self.set_postfix_str(words)


@contextmanager
def progress(total: int, label: str, before: int = 0) -> Iterator[Progress]:
    """Shows on stderr how far the work is; `before` units were done earlier."""
    if not sys.stderr.isatty():
        yield Lines(total, label, before)
        return
    with Bar(total=total, initial=before, desc=label, file=sys.stderr, dynamic_ncols=True) as bar:
        yield bar
