"""`g2d2 status`: how far a sweep is, read from its store alone, also while it runs; and how its job is."""

import argparse
import json
from pathlib import Path
from typing import Any

from operators import InputError
from operators.plain_yaml import read_yaml
from operators.plurals import counted
from operators.store_urls import parse_url
from pipelines.score.sweep_status import Status, read_status
from pipelines.storage import open_store
from pipelines.storage.sweep_folder import SweepFolder

_SHOWN_NIGHTS = 5
EXAMPLE = "g2d2 status out/demo/sweep"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("output", help="the sweep's output folder or URL, or its specification")
    parser.add_argument("--address", metavar="URL", help="also ask this dashboard for the job that `g2d2 submit` made")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    """0 complete, 1 rows failed, 2 not complete."""
    output = _output(args.output)
    job = None if args.address is None else _job(output, args.address)
    try:
        status = read_status(SweepFolder(output))
    except InputError:
        _refuse_nights(output)
        if job is None:
            raise
        status = None  # the job has not planned yet, or only the cluster can see its output
    if args.json:
        print(json.dumps((status.record() if status else {}) | ({} if args.address is None else {"job": job})))
    else:
        _print(output, status, job, asked=args.address is not None)
    if status is None or status.scored < status.items:
        return 2
    return 1 if status.failed else 0


def _output(given: str) -> str:
    """The output that a specification names; its other keys are looked at only where that one is wrong."""
    if not (given.endswith((".yaml", ".yml")) and Path(given).is_file()):
        return given
    content = read_yaml(given, "specification").content
    output = content.get("output") if isinstance(content, dict) else None
    if isinstance(output, str):
        return output
    from pipelines.plan.sweep_spec import load_spec  # with the methods and their libraries

    return load_spec(given).output


def _refuse_nights(output: str) -> None:
    """A nightly evaluation's output holds sweeps, and is none."""
    store = open_store(output)
    if store.exists("sweep.json"):
        return
    nights = [name.split("/")[1] for name in store.list("nights/") if name.endswith("/sweep.json")]
    if nights:
        raise InputError(
            f"sweep {output}: it holds the nights {', '.join(nights[-_SHOWN_NIGHTS:])}; ask for one, as "
            f"`g2d2 status {store.url(f'nights/{nights[-1]}')}`; `g2d2 nightly history SPEC` lists all."
        )


def _job(output: str, address: str) -> dict[str, Any] | None:
    from cluster.jobs import Dashboard, find_job  # imports Ray, which the store's status does without

    job = find_job(Dashboard(address).jobs(), parse_url(output).url)
    return None if job is None else {"id": job.id, "state": job.state, "exit_code": job.exit_code}


def _print(output: str, status: Status | None, job: dict[str, Any] | None, asked: bool) -> None:
    if asked:
        code = "" if job is None or job["exit_code"] is None else f", exit code {job['exit_code']}"
        print("no job for this output there" if job is None else f"job {job['id']}: {job['state']}{code}")
    if status is None:
        print(f"nothing to read at {output} from here yet")
        return
    print(f"{status.name}: {status.scored} of {counted(status.items, 'work item')} scored, {status.solved} solved, "
          f"{status.failed} failed")  # fmt: skip
    if status.search is not None:
        print(f"search: {status.search}")
    if status.heats:
        _print_races(status)
    for error, count in status.errors.items():
        print(f"  {count} x {error}")
    for note in status.notes:
        print(f"note: {note}")


def _print_races(status: Status) -> None:
    from pipelines.score.race_rows import race_lines  # with the record, which only races need here

    for sentence, heat in zip(status.race, status.heats, strict=True):
        print(f"race: {sentence}")
        for line in race_lines(heat):
            print(f"  {line}")
    if status.early:
        print(f"race: {counted(status.early, 'work item')} solved too early, of cells that then left")
