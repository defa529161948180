"""Work as a job of a cluster: packaged, named by its key, and started once."""

import shlex
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cluster.jobs.connection import Dashboard, DuplicateJobError, Job
from cluster.jobs.known_jobs import OUTPUT, SPECIFICATION, KnownJobs, look_up
from cluster.jobs.package import contents, write_package


@dataclass(frozen=True)
class Work:
    """What a job is to do, in values that mean something to a cluster."""

    key: str
    """Its id as a job; the same work into the same place has the same one, so that it cannot run twice at once."""
    output: str
    """Where it writes."""
    digest: str
    """Of all that is asked of it. No secret: the dashboard shows it."""
    words: Sequence[str]
    """The command; the unpacked package is its working directory, and on the path of its workers."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """Files of the package by name and content."""
    sources: Mapping[str, Path] = field(default_factory=dict)
    """Files and folders of this machine by their name in the package."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Of the job's environment."""

    @property
    def metadata(self) -> dict[str, str]:
        """By which a later command knows the job."""
        return {OUTPUT: self.output, SPECIFICATION: self.digest}


@dataclass(frozen=True)
class Started:
    """The job of some work, and whether it was submitted now."""

    job: Job
    how: str
    """`submitted`, `attached` to one that runs, or `done` before."""
    differs: bool = False
    """It runs with another digest under the same key."""


def submit(board: Dashboard, work: Work, again: bool = False) -> Started:
    """Start the work, unless it runs or, without `again`, is done already."""
    known = look_up(work.key, work.metadata, board.jobs())
    before = _known(known, work, again)
    if before is not None:
        return before
    with tempfile.TemporaryDirectory(prefix="g2d2-submit-") as folder:
        package = Path(folder) / "package.zip"
        write_package(package, work.texts, contents(work.sources))
        size = package.stat().st_size / 2**20
        print(f"submitting {known.next_id} ({size:.1f} MiB) to {board.url}", file=sys.stderr, flush=True)
        try:
            board.submit(known.next_id, shlex.join(work.words), package, work.variables, work.metadata)
        except DuplicateJobError:  # somebody else was faster with the same work
            return Started(board.job(known.next_id), "attached")
    return Started(board.job(known.next_id), "submitted")


def _known(known: KnownJobs, work: Work, again: bool) -> Started | None:
    if known.running is not None:
        return Started(known.running, "attached", differs=not work.metadata.items() <= known.running.metadata.items())
    return None if known.done is None or again else Started(known.done, "done")
