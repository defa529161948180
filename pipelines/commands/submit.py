"""`g2d2 submit`: a sweep as a job of a Ray cluster, followed to its true end."""

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import yaml

from cluster.jobs import (
    Dashboard,
    Job,
    LocalPath,
    Started,
    Work,
    check_reach,
    exit_code,
    find_job,
    follow,
    own_sources,
    passed_on,
    place_included,
    project_sources,
    submit,
)
from operators import InputError
from operators.store_urls import parse_url
from pipelines.plan.job_key import job_key, manifest_here, plan_id, request_digest
from pipelines.plan.job_paths import local_paths, place_paths, remedy
from pipelines.plan.named_modules import named_modules
from pipelines.plan.sweep_spec import SweepSpec, load_spec

EXAMPLE = "g2d2 submit sweep.yaml --address http://head:8265"

_STOP_SECONDS = 120.0


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("spec", type=Path, help="the sweep's specification, a YAML file")
    parser.add_argument("--address", metavar="URL", help="the dashboard (default: RAY_API_SERVER_ADDRESS)")
    parser.add_argument("--no-wait", action="store_true", help="submit and leave; the same command attaches later")
    parser.add_argument("--stop", action="store_true", help="stop the job that writes to this sweep's output")
    parser.add_argument("--again", action="store_true", help="run once more though it succeeded before")
    parser.add_argument("--retry-failed", action="store_true", help="solve failed rows again")
    parser.add_argument("--include", nargs="+", type=Path, default=[], metavar="PATH",
                        help="also send these files and folders, as a small manifest or prior")  # fmt: skip
    parser.add_argument("--installed", action="store_true", help="send no code: the cluster has g2d2 installed")
    parser.add_argument("--shared-paths", action="store_true", help="paths mean the same on every machine there")
    parser.add_argument("--env", nargs="+", default=[], metavar="NAME",
                        help="variables of this shell to set for the job; secrets are refused")  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print one JSON object at the end, and the log on stderr")


def run(args: argparse.Namespace) -> int:
    """The job's own exit code: 0 all good, 1 some rows failed, 2 could not run; 130 if it was stopped or left."""
    spec = load_spec(args.spec)
    board = Dashboard(args.address)
    if args.stop:
        return _stop(board, spec, args)
    started = submit(board, _work(board, spec, args), args.again)
    _announce(_sentence(started))
    job = started.job
    if args.no_wait and not job.ended:
        return _report(job, 0, args.json)
    if started.how != "done":
        try:
            job = follow(board, job.id, _writer(args.json))
        except KeyboardInterrupt:
            words = f"g2d2 submit {args.spec} --address {board.url}"
            _announce(f"\nleft job {job.id}, which goes on; `{words}` attaches again, with --stop it ends")
            return _report(job, 130, args.json)
        _announce(_outcome(job))
    return _report(job, exit_code(job), args.json)


def _work(board: Dashboard, spec: SweepSpec, args: argparse.Namespace) -> Work:
    """The sweep as a cluster is to run it; an InputError for anything that it could not find there."""
    variables, included = passed_on(args.env), place_included(args.include)
    placed = place_paths(spec, included)
    if not args.shared_paths:
        check_reach((LocalPath(key, path, remedy(key)) for key, path in local_paths(placed).items()), board)
    manifest = manifest_here(spec, elsewhere=args.shared_paths)
    own = own_sources(named_modules(spec, manifest))
    name = f"{spec.name}.yaml"
    return Work(
        key=job_key(placed, plan_id(spec, manifest, elsewhere=args.shared_paths)),
        output=placed.output,
        digest=request_digest(placed),
        words=command(name, args.installed, args.retry_failed),
        texts={name: yaml.safe_dump(placed.model_dump(mode="json"), sort_keys=False)},
        sources=own | included | ({} if args.installed else project_sources()),
        variables=variables,
    )


def command(specification: str, installed: bool, retry_failed: bool) -> list[str]:
    """What the head runs in the package's folder."""
    program = ["g2d2"] if installed else ["python", "-m", "pipelines.cli"]
    return [*program, "sweep", specification, *(["--retry-failed"] if retry_failed else [])]


def _stop(board: Dashboard, spec: SweepSpec, args: argparse.Namespace) -> int:
    """0 once nothing runs any more."""
    output = parse_url(spec.output).url
    job = find_job(board.jobs(), output)
    if job is None:
        raise InputError(f"--stop: {board.url} knows no job that writes to {output}.")
    deadline = time.monotonic() + _STOP_SECONDS
    while not job.ended:
        if time.monotonic() > deadline:
            raise InputError(f"--stop: job {job.id} still runs after {_STOP_SECONDS:.0f} s; try again.")
        board.stop(job.id)  # again each time: a job that is only starting does not hear it
        time.sleep(0.5)
        job = board.job(job.id)
    stays = "; what is committed stays, and submitting again goes on from there" if job.state == "STOPPED" else ""
    _announce(_outcome(job) + stays)
    return _report(job, 0, args.json)


def _sentence(started: Started) -> str:
    job = started.job
    if started.how == "done":
        return f"job {job.id} has done this work already; --again runs it once more"
    if started.how == "attached":
        other = " with other metrics, tracking or resources; submit again when it has ended" if started.differs else ""
        return f"job {job.id} runs already{other}; attached"
    return f"job {job.id} is submitted"


def _outcome(job: Job) -> str:
    if job.state == "STOPPED":
        return f"job {job.id} was stopped"
    if job.exit_code is not None:
        return f"job {job.id} ended with exit code {exit_code(job)}"
    return f"job {job.id} {job.state.lower()}: {' '.join(job.message.split())[:500]}"


def _report(job: Job, code: int, as_json: bool) -> int:
    if as_json:
        print(json.dumps({"job": job.id, "state": job.state, "exit_code": job.exit_code}))
    return code


def _writer(as_json: bool) -> Callable[[str], object]:
    def write(text: str) -> None:
        print(text, end="", flush=True, file=sys.stderr if as_json else sys.stdout)

    return write


def _announce(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
