"""Which of a cluster's jobs do some work: one to attach to, one that has done it, or the id of the next."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from cluster.jobs.connection import Job
from operators import InputError

OUTPUT, SPECIFICATION = "g2d2_output", "g2d2_specification"
"""Keys of a job's metadata: where it writes, and a digest of all that was asked of it."""


@dataclass(frozen=True)
class KnownJobs:
    """A job that does the work now or has done it, and the id that the next one will have."""

    next_id: str
    running: Job | None = None
    done: Job | None = None


def look_up(key: str, metadata: dict[str, str], jobs: Sequence[Job]) -> KnownJobs:
    """The jobs of this key, which the same work into the same place has; other work there now is an InputError."""
    attempts = {attempt: job for job in jobs if (attempt := _attempt(key, job.id))}
    other = find_job(jobs, metadata[OUTPUT])
    if other is not None and not other.ended and other not in attempts.values():
        raise InputError(
            f"output: job {other.id} is writing other work to {metadata[OUTPUT]}; wait for it, stop it with --stop, or "
            "choose another output."
        )
    if not attempts:
        return KnownJobs(key)
    last, next_id = attempts[max(attempts)], f"{key}-{max(attempts) + 1}"
    if not last.ended:
        return KnownJobs(next_id, running=last)
    if last.state == "SUCCEEDED" and last.metadata.get(SPECIFICATION) == metadata[SPECIFICATION]:
        return KnownJobs(next_id, done=last)
    return KnownJobs(next_id)


def find_job(jobs: Sequence[Job], output: str) -> Job | None:
    """The job of this output that runs, else the last that did."""
    mine = [job for job in jobs if job.metadata.get(OUTPUT) == output]
    running = [job for job in mine if not job.ended]
    return next(reversed(running or mine), None)


def _attempt(key: str, job_id: str) -> int:
    """1 for the key itself, N for key-N, 0 for another's."""
    match = re.fullmatch(re.escape(key) + r"(?:-([2-9]|[1-9]\d+))?", job_id)
    return 0 if match is None else int(match[1] or 1)
