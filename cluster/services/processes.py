"""Start, recognise and stop the processes of one service, and no others."""

import os
import signal
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import psutil  # type: ignore[import-untyped]
from pydantic import BaseModel, ConfigDict

_CLOCK_SECONDS = 2.0
_STEP_SECONDS = 20.0


class ProcessRecord(BaseModel):
    """A process by number and birth: numbers are given out again, a pair is not."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    pid: int
    started: float
    """Seconds since 1970."""

    @classmethod
    def of(cls, process: psutil.Process) -> "ProcessRecord":
        return cls(pid=process.pid, started=process.create_time())

    def find(self) -> psutil.Process | None:
        """The process, if it still lives and is the one recorded."""
        try:
            process = psutil.Process(self.pid)
            # the birth is computed from the clock, which may have been set since
            same = abs(process.create_time() - self.started) < _CLOCK_SECONDS
            return process if same and process.status() != psutil.STATUS_ZOMBIE else None
        except psutil.NoSuchProcess:
            return None


def spawn(
    command: Sequence[str], environment: Mapping[str, str], folder: Path, log: Path, user: int | None
) -> ProcessRecord:
    """Start a process that outlives this one, writing to a log only its owner can read."""
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        child = subprocess.Popen(
            command,
            env=dict(environment),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=descriptor,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            user=user,
            extra_groups=None if user is None else [],
        )
    finally:
        os.close(descriptor)
    return ProcessRecord.of(psutil.Process(child.pid))


def tree(records: Iterable[ProcessRecord]) -> list[psutil.Process]:
    """Those of the recorded processes that live, and their descendants."""
    living: dict[int, psutil.Process] = {}
    for process in filter(None, (record.find() for record in records)):
        living[process.pid] = process
        try:
            living |= {child.pid: child for child in process.children(recursive=True)}
        except psutil.NoSuchProcess:
            continue
    return list(living.values())


def stop(records: Sequence[ProcessRecord], first_signal: signal.Signals) -> list[int]:
    """Ask the first process, then all that remain, then insist; the numbers of those that survive."""
    remaining = tree(records)
    leader = records[0].find() if records else None
    if leader is not None:
        _signal(leader, first_signal)
        remaining = _wait(remaining)
    for word in (signal.SIGTERM, signal.SIGKILL):
        for process in remaining:
            _signal(process, word)
        remaining = _wait(remaining)
    return [process.pid for process in remaining]


def _signal(process: psutil.Process, word: signal.Signals) -> None:
    try:
        process.send_signal(word)
    except psutil.NoSuchProcess:
        return


def _wait(processes: list[psutil.Process]) -> list[psutil.Process]:
    if not processes:
        return []
    _, alive = psutil.wait_procs(processes, timeout=_STEP_SECONDS)
    return [process for process in alive if ProcessRecord.of(process).find()]
