"""From a specification to a job: checked here, packaged, named after its plan, and started once."""

import shlex
import socket
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cluster.jobs.connection import Dashboard, DuplicateJobError, Job
from cluster.jobs.identity import Found, job_metadata, job_name, look_up, plan_digest
from cluster.jobs.package import contents, place_included, write_package
from cluster.jobs.paths import check_reach, place_paths
from cluster.jobs.variables import passed_on
from g2d2.solvers import load_solver
from pipelines.spec import SweepSpec


@dataclass(frozen=True)
class Request:
    """What a user may say about a job besides the specification."""

    include: Sequence[Path] = ()
    installed: bool = False
    shared_paths: bool = False
    variables: Sequence[str] = ()
    retry_failed: bool = False
    again: bool = False


@dataclass(frozen=True)
class Started:
    """A job, and how it was come by."""

    job: Job
    how: str
    """`submitted`, `attached` to one that runs, or `done` before."""
    differs: bool = False
    """It runs with another specification of the same plan."""


def submit(board: Dashboard, spec: SweepSpec, request: Request) -> Started:
    """Start the work, unless it runs or is done already."""
    variables = passed_on(request.variables)
    if not request.installed:
        load_solver(spec.solver.method)
    included = place_included(request.include)
    placed = place_paths(spec, included)
    if not request.shared_paths:
        check_reach(placed, board.hosts(), socket.gethostname(), board.url)
    name = job_name(placed, plan_digest(spec, elsewhere=request.shared_paths))
    metadata = job_metadata(placed)
    found = look_up(name, metadata, board.jobs())
    known = _known(found, metadata, request.again)
    if known is not None:
        return known
    with tempfile.TemporaryDirectory(prefix="g2d2-submit-") as folder:
        package = Path(folder) / "package.zip"
        inside = write_package(package, placed, contents(placed, included, request.installed))
        size = package.stat().st_size / 2**20
        print(f"submitting {found.next_id} ({size:.1f} MiB) to {board.url}", file=sys.stderr, flush=True)
        try:
            board.submit(found.next_id, command(inside, request), package, variables, metadata)
        except DuplicateJobError:  # somebody else was faster with the same work
            return Started(board.job(found.next_id), "attached")
    return Started(board.job(found.next_id), "submitted")


def _known(found: Found, metadata: dict[str, str], again: bool) -> Started | None:
    if found.running is not None:
        return Started(found.running, "attached", differs=not metadata.items() <= found.running.metadata.items())
    return None if found.done is None or again else Started(found.done, "done")


def command(inside: str, request: Request) -> str:
    """What the head runs; the package is its working directory."""
    program = ["g2d2"] if request.installed else ["python", "-m", "pipelines.cli"]
    return shlex.join([*program, "sweep", inside, *(["--retry-failed"] if request.retry_failed else [])])
