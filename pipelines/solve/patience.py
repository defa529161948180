"""When nothing has finished for a while, say what is being worked on."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tqdm import tqdm

from operators import InputError
from operators.plurals import counted
from pipelines.solve.attempts import Attempt, noted, read_note
from pipelines.storage.sweep_folder import SweepFolder

QUIET_SECONDS = 300.0


@contextmanager
def patience(
    folder: SweepFolder, run: str, devices: Callable[[], str], seconds: float = QUIET_SECONDS
) -> Iterator[Callable[[], None]]:
    """Yields what to call at each sign of life; without one for `seconds`, a sentence goes to stderr."""
    stop, life = threading.Event(), [time.monotonic()]

    def listen() -> None:
        announced = life[0]
        while not stop.wait(seconds / 10):
            now = time.monotonic()
            if now - max(life[0], announced) >= seconds:
                announce(
                    f"nothing has finished for {now - life[0]:.0f} s; {_doing(folder, run)}; "
                    f"the cluster has {devices()}"
                )
                announced = now

    listener = threading.Thread(target=listen, daemon=True)
    listener.start()
    try:
        yield lambda: life.__setitem__(0, time.monotonic())
    finally:
        stop.set()
        listener.join(timeout=5)


def announce(sentence: str) -> None:
    """A line on stderr that leaves a progress bar whole."""
    tqdm.write(sentence, file=sys.stderr)
    sys.stderr.flush()


def _doing(folder: SweepFolder, run: str) -> str:
    try:
        attempts = running(folder, run)
    except InputError as error:  # the store is away: its sentence is the news
        return str(error).rstrip(".")
    if not attempts:
        return "no device works on this sweep"
    name, attempt = min(attempts.items(), key=lambda pair: pair[1].started)
    age = time.time() - attempt.started
    return (
        f"{counted(len(attempts), 'device')} at work, the longest for {age:.0f} s: {name} on {attempt.device} "
        f"({counted(len(attempt.items), 'row')}: {', '.join(attempt.items[:3])}"
        f"{' ...' if len(attempt.items) > 3 else ''})"
    )


def running(folder: SweepFolder, run: str) -> dict[str, Attempt]:
    """What this run's devices are busy with, by shard."""
    found = {}
    for name in noted(folder):
        note = read_note(folder, name)
        if note is not None and note["run"] == run and note["running"] is not None:
            found[name] = Attempt(**note["running"])
    return found
