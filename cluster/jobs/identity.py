"""The name of a job: the same work into the same place has the same one, so that it cannot run twice at once."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from cluster.jobs.connection import Job
from cluster.jobs.paths import names_folder
from g2d2.priors.locating import locate_prior
from g2d2.version import SOLVER_VERSION
from operators import InputError
from pipelines.identity import fingerprint
from pipelines.manifest import Manifest
from pipelines.plan import outline
from pipelines.spec import SweepSpec
from pipelines.storage import StoreError

OUTPUT, SPECIFICATION = "g2d2_output", "g2d2_specification"
"""Keys of a job's metadata."""
T = TypeVar("T")
_NAME_LETTERS = 40
_HASH_DIGITS = 12


def plan_digest(spec: SweepSpec, elsewhere: bool) -> str | None:
    """The plan's id, or None where the manifest or the prior can be read on the cluster alone.

    `elsewhere` says that paths are those of the cluster, so that one missing here is no mistake.
    """
    manifest = _seen(lambda: Manifest.open(spec.manifest), forgive=elsewhere and "://" not in spec.manifest)
    prior = _seen(lambda: locate_prior(spec.prior, download=False), forgive=elsewhere or not names_folder(spec.prior))
    return None if manifest is None or prior is None else outline(spec, manifest, prior).id


def _seen(look: Callable[[], T], forgive: bool) -> T | None:
    try:
        return look()
    except StoreError:
        return None  # the keys may be on the cluster only
    except InputError:
        if forgive:
            return None
        raise


def job_name(spec: SweepSpec, plan: str | None) -> str:
    """`g2d2-NAME-HASH`, of the plan and the output; without a plan, of what the specification says about it."""
    if plan is None:
        said = spec.model_dump(mode="json", include={"manifest", "prior", "solver", "grid", "seeds", "select"})
        plan = fingerprint("specification", SOLVER_VERSION, said, spec.resources.dtype)
    return f"g2d2-{spec.name[:_NAME_LETTERS]}-{fingerprint('job', plan, spec.output)[:_HASH_DIGITS]}"


def job_metadata(spec: SweepSpec) -> dict[str, str]:
    """What tells a later command whose job it is; no secrets, the dashboard shows it."""
    return {OUTPUT: spec.output, SPECIFICATION: fingerprint(spec.model_dump(mode="json"))}


@dataclass(frozen=True)
class Found:
    """What a cluster knows of the work: a job to attach to or one that is done, else the id of the next."""

    next_id: str
    running: Job | None = None
    done: Job | None = None


def look_up(name: str, metadata: dict[str, str], jobs: Sequence[Job]) -> Found:
    """Refuses to start beside other work into the same output."""
    attempts = {attempt: job for job in jobs if (attempt := _attempt(name, job.id))}
    other = find_job(jobs, metadata[OUTPUT])
    if other is not None and not other.ended and other not in attempts.values():
        raise InputError(
            f"output: job {other.id} is writing other work to {metadata[OUTPUT]}; wait for it, stop it with --stop, or "
            "choose another output."
        )
    last = attempts[max(attempts)] if attempts else None
    following = Found(f"{name}-{max(attempts) + 1}" if attempts else name)
    if last is None:
        return following
    if not last.ended:
        return Found(following.next_id, running=last)
    if last.state == "SUCCEEDED" and last.metadata.get(SPECIFICATION) == metadata[SPECIFICATION]:
        return Found(following.next_id, done=last)
    return following


def find_job(jobs: Sequence[Job], output: str) -> Job | None:
    """The job of this output that runs, else the last that did."""
    mine = [job for job in jobs if job.metadata.get(OUTPUT) == output]
    running = [job for job in mine if not job.ended]
    return next(reversed(running or mine), None)


def _attempt(name: str, job_id: str) -> int:
    """1 for the name itself, N for name-N, 0 for another's."""
    found = re.fullmatch(re.escape(name) + r"(?:-([2-9]|[1-9]\d+))?", job_id)
    return 0 if found is None else int(found[1] or 1)
