"""The process that outlives a driver by a moment: whatever the driver's own Ray has left behind, it ends and removes.

Run by path, with the driver's number, Ray's folder and, where it is private, the folder to remove. The end of its input
is its word: the driver holds the other end, and loses it however it dies.
"""

import os
import re
import select
import shutil
import sys
import time
from collections.abc import Sequence

import psutil  # type: ignore[import-untyped]

_LOOK_SECONDS = 5.0
_PAUSE_SECONDS = 0.2
_LONGEST_SECONDS = 30.0


def main(argv: Sequence[str]) -> None:
    driver, place, private = int(argv[0]), argv[1], argv[2:]
    session = os.getsid(driver)
    # a process forked from the driver may hold its end of the pipe too, so the parent is looked at as well
    while os.getppid() == driver and not select.select([sys.stdin], [], [], _LOOK_SECONDS)[0]:
        pass
    place = re.escape(os.path.realpath(place))  # the system names open files by their true path
    _end(re.compile(rf"{place}/session_[^/]*_{driver}/"), session, driver)
    for folder in private:
        shutil.rmtree(folder, ignore_errors=True)


def _end(logs: re.Pattern[str], session: int, driver: int) -> None:
    """Until nothing is there twice: what dies may have been starting another."""
    deadline, quiet = time.monotonic() + _LONGEST_SECONDS, 0
    while quiet < 2 and time.monotonic() < deadline:
        remaining = [process for process in psutil.process_iter() if _belongs(process, logs, session, driver)]
        for process in remaining:
            try:
                process.kill()
            except psutil.Error:
                continue
        psutil.wait_procs(remaining, timeout=_PAUSE_SECONDS)
        quiet = 0 if remaining else quiet + 1
        time.sleep(0 if remaining else _PAUSE_SECONDS)


def _belongs(process: psutil.Process, logs: re.Pattern[str], session: int, driver: int) -> bool:
    """Whether it writes a log of the driver's Ray: names and environments of Ray's processes are overwritten."""
    try:
        if process.pid == driver or os.getsid(process.pid) != session or process.status() == psutil.STATUS_ZOMBIE:
            return False
        return any(logs.match(file.path) and getattr(file, "mode", "w") != "r" for file in process.open_files())
    except (psutil.Error, OSError):
        return False


if __name__ == "__main__":
    main(sys.argv[1:])
