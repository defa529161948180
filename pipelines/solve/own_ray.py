"""A Ray of this process's own: in a private folder, watched while it runs, and gone without a trace."""

import atexit
import contextlib
import os
import re
import select
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil  # type: ignore[import-untyped]

from operators import InputError
from operators.extensions import FOLDER_VARIABLE, own_modules

_GUARD = Path(__file__).with_name("ray_guard.py")
_LONGEST_BASE = 23
"""Bytes: below it come 84 of Ray's names, and a socket's path ends at 107, or 103 on macOS."""
_GUARD_SECONDS = 60.0
_VITAL = {
    r"/gcs_server\b": "control process",
    r"/raylet/raylet\b": "node process",
    r"runtime_env/agent/main\.py|^ray::RuntimeEnvAgent": "runtime environment agent",
    r"dashboard/agent\.py|^ray::DashboardAgent": "dashboard agent",
}
"""Processes that Ray cannot do without: where one ends, Ray ends its driver a little later without a word."""
_COULD_NOT_RUN = 2
_guard: "subprocess.Popen[bytes] | None" = None


def start() -> None:
    """Start Ray on this machine alone; `leave` ends it, and so does the end of this process, however it comes."""
    global _guard
    import ray

    private = None if os.environ.get("RAY_TMPDIR") else _private_folder()
    place = os.path.join(private, "r") if private else os.path.join(os.environ["RAY_TMPDIR"], "ray")
    # Ray opens its own folder to everybody; the one around it stays closed
    _guard = _start_guard(place, private)
    atexit.register(leave)
    try:
        with _modules_of_workers():
            ray.init(
                address="local",
                num_cpus=1 + (os.cpu_count() or 1),  # scoring is light: a slot for it takes no core from solving
                include_dashboard=False,
                logging_level="warning",
                log_to_driver=False,
                _temp_dir=place,
            )
    except Exception as error:
        leave()
        why = " ".join(str(error).split())[:300]
        raise InputError(
            f"Ray could not be started on this machine ({type(error).__name__}: {why.rstrip('.')}); try again when it "
            "is less busy, or set RAY_TMPDIR to a folder, in which Ray then leaves its logs."
        ) from error
    except BaseException:
        leave()
        raise
    if hasattr(os, "pidfd_open"):
        threading.Thread(target=_watch, args=(_vital_processes(), _guard), name="own-ray-watch", daemon=True).start()


@contextlib.contextmanager
def _modules_of_workers() -> Iterator[None]:
    """A Ray that starts meanwhile gives its workers the folder in which this process looks for the user's modules."""
    before = os.environ.get(FOLDER_VARIABLE)
    os.environ[FOLDER_VARIABLE] = os.path.abspath(own_modules())
    try:
        yield
    finally:
        del os.environ[FOLDER_VARIABLE]
        if before is not None:
            os.environ[FOLDER_VARIABLE] = before


def leave() -> None:
    """Disconnect from Ray; one that was started here is gone afterwards, with its processes and its folder."""
    global _guard
    ray = sys.modules.get("ray")
    try:
        if ray is not None:
            ray.shutdown()
    finally:
        guard, _guard = _guard, None
        if guard is not None and guard.stdin is not None:
            guard.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                guard.wait(_GUARD_SECONDS)


def _private_folder() -> str:
    base = tempfile.gettempdir()
    return tempfile.mkdtemp(prefix="g2d2-", dir=base if len(os.fsencode(base)) <= _LONGEST_BASE else "/tmp")


def _start_guard(place: str, private: str | None) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-P", str(_GUARD), str(os.getpid()), place, *([private] if private else [])],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        start_new_session=True,  # Ctrl-C and the end of a terminal are for the driver
    )


def _vital_processes() -> dict[int, str]:
    """Descriptors of the processes that Ray cannot do without, each with a sentence's beginning."""
    watched = {}
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error, OSError):
            words = " ".join(process.cmdline()[:4])
            name = next((name for pattern, name in _VITAL.items() if re.search(pattern, words)), None)
            if name is not None:
                watched[os.pidfd_open(process.pid)] = f"Ray's {name} ({process.pid})"
    return watched


def _watch(watched: dict[int, str], guard: "subprocess.Popen[bytes]") -> None:
    """End this process with a sentence before Ray ends it without one."""
    poll = select.poll()
    for descriptor in watched:
        poll.register(descriptor, select.POLLIN)
    ended = [watched[descriptor] for descriptor, _ in poll.poll()]
    for descriptor in watched:
        os.close(descriptor)
    if _guard is not guard or not sys.modules["ray"].is_initialized():  # it was left, as it should be
        return
    with contextlib.suppress(OSError):
        os.write(
            2,
            f"\ng2d2: {ended[0]} ended in the midst of the work, and Ray with it: somebody stopped it, or this machine "
            "ran out of memory; finished results are kept, the same command goes on.\n".encode(),
        )
    os._exit(_COULD_NOT_RUN)  # anything slower, and Ray would be first; the guard removes what is left
