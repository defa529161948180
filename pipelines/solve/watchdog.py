"""Work that takes too long ends its process, so that somebody else can try."""

import faulthandler
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

_GRACE_SECONDS = 60.0
_LEAST_SECONDS, _FACTOR = 900.0, 20.0


@contextmanager
def watchdog(seconds: float | None, last_words: Callable[[], None]) -> Iterator[None]:
    """After this many seconds, call `last_words` and end the process without asking the work."""
    if seconds is None:
        yield
        return
    timer = threading.Timer(seconds, _end, (last_words,))
    timer.daemon = True
    # a thread of C that needs no interpreter: it ends also what never lets go of Python's lock
    faulthandler.dump_traceback_later(seconds + _GRACE_SECONDS, exit=True, file=2)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        faulthandler.cancel_dump_traceback_later()


def _end(last_words: Callable[[], None]) -> None:
    try:
        last_words()
    finally:
        os._exit(1)


@dataclass
class Limit:
    """Seconds that a piece of work may take: as set, or many times what its like has taken on this device."""

    setting: float | Literal["auto"] | None
    slowest: float = 0.0
    """Seconds per unit of work."""

    def seconds(self, work: float) -> float | None:
        """None is no limit, which `auto` gives the first: it may compile, or run on a device nobody knows."""
        if self.setting != "auto":
            return self.setting
        return max(_LEAST_SECONDS, _FACTOR * self.slowest * work) if self.slowest else None

    def learn(self, work: float, seconds: float) -> None:
        self.slowest = max(self.slowest, seconds / work)
