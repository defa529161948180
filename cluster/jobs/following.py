"""A job's log as it grows, and its true end: that a connection ends does not mean that the job did."""

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Protocol

from cluster.jobs.connection import Job, UnreachableError
from operators import InputError

_STOPPED_CODE = 130
_COULD_NOT_RUN = 2


class Board(Protocol):
    """A dashboard, as far as a job's log and state go."""

    def job(self, job_id: str) -> Job: ...
    def logs(self, job_id: str) -> str: ...
    def tail(self, job_id: str) -> AsyncIterator[str]: ...


@dataclass(frozen=True)
class Patience:
    """Seconds."""

    silent: float = 60.0
    """A log without news for so long is asked for anew: a dead connection looks the same as a quiet job."""
    away: float = 600.0
    """A dashboard that does not answer for so long is given up."""
    first_wait: float = 1.0
    longest_wait: float = 30.0


class _Replay:
    """Writes each part of the log once, though every connection sends it from its beginning."""

    def __init__(self, write: Callable[[str], object]) -> None:
        self.write, self.written, self.received = write, 0, 0

    def begin(self) -> None:
        """The log comes from its beginning again."""
        self.received = 0

    def receive(self, text: str) -> None:
        """Write what is new in the next part of the log."""
        fresh = text[max(0, self.written - self.received) :]
        self.received += len(text)
        if fresh:
            self.write(fresh)
            self.written += len(fresh)


def follow(board: Board, job_id: str, write: Callable[[str], object], patience: Patience | None = None) -> Job:
    """The job once it has ended; its log is written as it grows."""
    patience = patience or Patience()
    replay = _Replay(write)
    answered, wait = time.monotonic(), patience.first_wait
    while True:
        try:
            asyncio.run(_listen(board, job_id, replay, patience.silent))
            job = board.job(job_id)
            if job.ended:
                _write_the_end(board, job_id, replay)
                return job
            answered, wait = time.monotonic(), patience.first_wait
        except UnreachableError as error:
            away = time.monotonic() - answered
            if away > patience.away:
                raise UnreachableError(
                    f"job {job_id}: nothing was heard of it for {away:.0f} s, and it may still run; the same command "
                    f"attaches again ({error})"
                ) from None
            wait = min(2 * wait, patience.longest_wait)
        time.sleep(wait)


def _write_the_end(board: Board, job_id: str, replay: _Replay) -> None:
    """Write what no connection has sent. A log that cannot be read is no error: the job's exit code is known."""
    try:
        text = board.logs(job_id)
    except InputError as error:
        print(f"job {job_id}: it has ended, and the end of its log cannot be read ({error})", file=sys.stderr)
        return
    replay.begin()
    replay.receive(text)


async def _listen(board: Board, job_id: str, replay: _Replay, silent: float) -> None:
    """Receive from one connection until it ends, or sends nothing for `silent` seconds."""
    replay.begin()
    lines = board.tail(job_id)
    while True:
        try:
            replay.receive(await asyncio.wait_for(anext(lines), silent))
        except (StopAsyncIteration, UnreachableError, TimeoutError):
            return


def exit_code(job: Job) -> int:
    """The job's own, as a shell would give it: 130 if it was stopped, 2 if it never ran."""
    if job.state == "STOPPED":
        return _STOPPED_CODE
    if job.exit_code is None:
        return 0 if job.state == "SUCCEEDED" else _COULD_NOT_RUN
    return job.exit_code if job.exit_code >= 0 else 128 - job.exit_code
