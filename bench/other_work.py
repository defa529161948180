"""How busy other work keeps the machine while a bench runs: all processor time, without that of the bench's own."""

import os
from collections.abc import Callable, Iterable
from typing import NamedTuple

import psutil

from pipelines.solve.machine_load import core_seconds

QUIET = 0.25
"""Share of the cores that other work may keep busy without spoiling a time."""
_PATIENCE = 5


def settle() -> None:
    """Wait some seconds for what went before to leave."""
    for _ in range(_PATIENCE):
        if psutil.cpu_percent(1.0) <= 100 * QUIET:
            break


class Process(NamedTuple):
    """A process that lives now, with its processor time so far."""

    pid: int
    started: float
    """With the number it names one process, since numbers are given again."""
    parent: int
    seconds: float
    waited: float = 0.0
    """Of its children that ended, and of theirs, as far as it has asked how they ended."""


def living() -> Iterable[Process]:
    """All processes of this machine that tell their time."""
    for process in psutil.process_iter(["pid", "create_time", "ppid", "cpu_times"]):
        known, times = process.info, process.info["cpu_times"]
        if times is not None:
            waited = getattr(times, "children_user", 0.0) + getattr(times, "children_system", 0.0)
            yield Process(known["pid"], known["create_time"], known["ppid"], times.user + times.system, waited)


class OwnTime:
    """Processor seconds of a process and all that descends from it, from looks now and then.

    A process that was seen once stays one of them, whoever its parent is later: some of Ray's outlive theirs.
    """

    def __init__(self, root: int, living: Callable[[], Iterable[Process]] = living):
        self.root, self.living = root, living
        self.known: dict[tuple[int, float], Process] = {}
        self.lost = 0.0
        """Of processes that ended without anybody of these asking how."""

    def __call__(self) -> float:
        """All of them since they began."""
        members, now = {self.root}, dict[tuple[int, float], Process]()
        for process in sorted(self.living(), key=lambda process: process.started):  # parents before children
            key = process.pid, process.started
            if process.pid in members or process.parent in members or key in self.known:
                members.add(process.pid)
                now[key] = process
        ended = sum(process.seconds + process.waited for key, process in self.known.items() if key not in now)
        asked = sum(process.waited - self.known[key].waited for key, process in now.items() if key in self.known)
        self.lost += max(0.0, ended - asked)
        self.known = now
        return self.lost + sum(process.seconds + process.waited for process in now.values())


class OtherWork:
    """The share of all cores that processes other than this one and its own keep busy from now on."""

    def __init__(self, own: Callable[[], float] | None = None, cores: Callable[[], tuple[float, float]] = core_seconds):
        """`own` gives the seconds that are not others', `cores` those of all cores: idle, and in all."""
        self.own, self.cores = own or OwnTime(os.getpid()), cores
        self.began = (*self.cores(), self.own())

    def look(self) -> float:
        """The share so far; asked now and then, since of a process that is gone only the last look tells."""
        (idle, total), own = self.cores(), self.own()
        idle, total, own = (now - then for now, then in zip((idle, total, own), self.began, strict=True))
        return min(max((total - idle - own) / total, 0.0), 1.0) if total > 0 else 0.0
