"""Work as jobs of a Ray cluster: package, name, submit, follow, stop."""

from cluster.jobs.connection import Dashboard, Job, UnknownJobError, UnreachableError
from cluster.jobs.following import exit_code, follow
from cluster.jobs.known_jobs import find_job
from cluster.jobs.modules import own_sources
from cluster.jobs.package import place_included
from cluster.jobs.project import project_sources
from cluster.jobs.reach import LocalPath, check_reach
from cluster.jobs.submission import Started, Work, submit
from cluster.jobs.variables import passed_on

__all__ = [
    "Dashboard",
    "Job",
    "LocalPath",
    "Started",
    "UnknownJobError",
    "UnreachableError",
    "Work",
    "check_reach",
    "exit_code",
    "find_job",
    "follow",
    "own_sources",
    "passed_on",
    "place_included",
    "project_sources",
    "submit",
]
