"""Sweeps as jobs of a Ray cluster: package, name, submit, follow, stop."""

from cluster.jobs.connection import Dashboard, Job, UnknownJobError, UnreachableError
from cluster.jobs.following import exit_code, follow
from cluster.jobs.identity import find_job
from cluster.jobs.submission import Request, Started, submit

__all__ = [
    "Dashboard",
    "Job",
    "Request",
    "Started",
    "UnknownJobError",
    "UnreachableError",
    "exit_code",
    "find_job",
    "follow",
    "submit",
]
