"""`python -m bench`: run all benches, or those asked for, and end with one table of their ratios beside their goals.

Every bench runs in a process of its own and leaves bench/results/LEVEL/NAME.json; one that fails is named at the end,
and the others go on. Exit codes: 0 all ran, 1 a bench failed, 2 could not run, 130 interrupted. A goal that is not met
is told and fails nothing.
"""

import argparse
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.accepted import ACCEPTED, Accepted, accept, read_accepted
from bench.other_work import OtherWork, settle
from bench.ratio_table import summary
from bench.registry import SUITE, Effort
from bench.result import ROOT, Clock, Result, commit, read_result, result_path
from operators import InputError
from pipelines.console.interrupts import INTERRUPTED, sigterm_interrupts

RESULTS = Path(__file__).parent / "results"
_LIMIT = 3600.0
"""Seconds after which a bench is taken to hang, unless it is a full one."""
_LOOK_SECONDS = 1.0
_FAREWELL = 60.0
"""Seconds in which a bench that is ended may end its own processes."""


def main(arguments: Sequence[str] | None = None) -> int:
    given = _parser().parse_args(arguments)
    effort, folder = Effort(given.level, given.threads), given.out / given.level
    names = [name for name in SUITE if name in (given.only or SUITE)]
    try:
        before = read_accepted()
        if given.accept:
            return _accept(folder, before)
    except InputError as error:
        print(f"python -m bench: {error}", file=sys.stderr)
        return 2
    kept = {name: result for name in names if given.resume and (result := _kept(folder, name, effort))}
    results: list[Result] = []
    with sigterm_interrupts() as final_code:
        code = 0
        try:
            for result in _run(names, kept, effort, folder, before):
                results.append(result)
        except KeyboardInterrupt:
            code = INTERRUPTED
        if results:
            print(f"\n{summary(results, before)}", flush=True)
        if code == INTERRUPTED:
            print("interrupted: the same command with --resume goes on with the bench that was running")
            return final_code(code)
    return 1 if any(result.error is not None for result in results) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only", choices=SUITE, action="append", metavar="NAME", help=f"repeatable; {', '.join(SUITE)}"
    )
    level = parser.add_mutually_exclusive_group()
    level.add_argument(
        "--quick", dest="level", action="store_const", const="quick", help="minutes for all: do they run?"
    )
    level.add_argument(
        "--full", dest="level", action="store_const", const="full", help="hours: more rounds, more nodes"
    )
    parser.set_defaults(level="normal")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="torch threads (default: all cores)")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the results, a folder per level in it")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--resume", action="store_true", help="keep results of this commit, level and number of threads")
    what.add_argument(
        "--accept", action="store_true", help="measure nothing; make the last whole run bench/accepted.json"
    )
    return parser


def _accept(folder: Path, before: Accepted | None) -> int:
    if folder.name != "normal":
        raise InputError(f"--accept takes normal runs, and --{folder.name} asks for another level; leave it out.")
    accepted = accept(folder)
    accepted.write(ACCEPTED)
    count = sum(len(one.ratios) for one in accepted.benches.values())
    instead = f" instead of commit {before.commit} of {before.date}" if before is not None else ""
    print(f"{os.path.relpath(ACCEPTED)}: {count} ratios of commit {accepted.commit} of {accepted.date}{instead}")
    return 0


def _kept(folder: Path, name: str, effort: Effort) -> Result | None:
    result = read_result(folder, name)
    same = result is not None and result.error is None and result.commit == commit()
    return result if same and result is not None and result.machine.threads == effort.threads else None


def _run(
    names: Sequence[str], kept: dict[str, Result], effort: Effort, folder: Path, before: Accepted | None
) -> Iterator[Result]:
    """The results in turn, with a line of progress before each."""
    started = time.monotonic()
    for index, name in enumerate(names, start=1):
        place = f"[{index} of {len(names)}] {name}"
        if name in kept:
            print(f"\n{place}: kept from {kept[name].date}", flush=True)
            yield kept[name]
            continue
        so_far = f"{(time.monotonic() - started) / 60:.1f} minutes so far"
        print(f"\n{place}: {so_far}{_expected(name, effort, before)}", flush=True)
        yield run_alone(name, effort, folder)


def _expected(name: str, effort: Effort, before: Accepted | None) -> str:
    if before is None or before.level != effort.level or name not in before.benches:
        return ""
    return f", this took {before.benches[name].seconds / 60:.1f} when it was accepted"


def run_alone(name: str, effort: Effort, folder: Path) -> Result:
    """A bench in a process of its own; one that dies without a word still has a result that tells so."""
    folder.mkdir(parents=True, exist_ok=True)
    result_path(folder, name).unlink(missing_ok=True)
    settle()
    started, other = time.time(), OtherWork()
    words = [sys.executable, "-m", "bench.one", name, effort.level, str(effort.threads), str(folder.resolve())]
    with subprocess.Popen(words, cwd=ROOT, process_group=0) as process:
        try:
            code = _ended(process, None if effort.level == "full" else _LIMIT, other)
            how = f"ended with {f'signal {-code}' if code < 0 else f'code {code}'} and left no result"
        except subprocess.TimeoutExpired:
            _end(process)
            how = f"took more than {_LIMIT / 60:.0f} minutes and was ended"
        except KeyboardInterrupt:
            _end(process)
            raise
    result = read_result(folder, name)
    if result is None:
        result = Clock(name, effort, started).result(error=f"its process {how}")
    result = result.model_copy(update={"busy": other.look()})
    result.write(folder)
    return result


def _ended(process: "subprocess.Popen[bytes]", limit: float | None, other: OtherWork) -> int:
    """How it ended, other work being watched until then; TimeoutExpired after so many seconds."""
    end = math.inf if limit is None else time.monotonic() + limit
    while True:
        try:
            return process.wait(_LOOK_SECONDS)
        except subprocess.TimeoutExpired:
            if time.monotonic() >= end:
                raise
            other.look()


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(_FAREWELL)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)


if __name__ == "__main__":
    raise SystemExit(main())
