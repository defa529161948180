"""Try again while a store is away, for a bounded time."""

import logging
import os
import random
import time
from collections.abc import Callable
from typing import TypeVar

from operators.errors import InputError
from operators.validation import shorten

SECONDS_VARIABLE = "G2D2_STORE_RETRY_SECONDS"
DEFAULT_SECONDS = 60.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 5.0

Result = TypeVar("Result")
log = logging.getLogger(__name__)


def retry_seconds() -> float:
    """How long an operation may go on trying: G2D2_STORE_RETRY_SECONDS, or a minute."""
    text = os.environ.get(SECONDS_VARIABLE)
    if text is None:
        return DEFAULT_SECONDS
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise InputError(f"{SECONDS_VARIABLE} is {shorten(text)}: it must be a number of seconds, at least 0.")
    return seconds


def retrying(
    action: Callable[[], Result], is_transient: Callable[[BaseException], bool], seconds: float, what: str
) -> Result:
    """The action's result; its last error once `seconds` are used up, or at once if waiting cannot help."""
    deadline = time.monotonic() + seconds
    pause = _FIRST_PAUSE
    warned = False
    while True:
        try:
            return action()
        except Exception as error:
            left = deadline - time.monotonic()
            if left <= 0 or not is_transient(error):
                raise
            if not warned:
                log.warning("%s does not answer (%s); trying again for %.0f s", what, type(error).__name__, left)
                warned = True
        # workers that lost the same store should not all come back in the same instant
        time.sleep(min(left, pause * random.uniform(0.5, 1.0)))
        pause = min(2 * pause, _LONGEST_PAUSE)
