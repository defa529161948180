"""SIGTERM as Ctrl-C: what job managers send to end a command ends it as cleanly as a person does."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

INTERRUPTED = 130
TERMINATED = 128 + signal.SIGTERM


@contextmanager
def sigterm_interrupts() -> Iterator[Callable[[int], int]]:
    """SIGTERM raises KeyboardInterrupt; yields what makes 143 of the exit code of a command that it interrupted."""
    received: list[int] = []

    def interrupt(number: int, _frame: FrameType | None) -> None:
        received.append(number)
        raise KeyboardInterrupt

    with keeping_sigterm():
        if _in_main_thread():
            signal.signal(signal.SIGTERM, interrupt)
        yield lambda code: TERMINATED if received and code == INTERRUPTED else code


@contextmanager
def keeping_sigterm() -> Iterator[None]:
    """What SIGTERM does stays as it is, whatever is installed in between; only the main thread may decide it."""
    previous = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if _in_main_thread() and previous is not None:
            signal.signal(signal.SIGTERM, previous)


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
