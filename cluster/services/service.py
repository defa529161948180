"""What every development service shares: remembered ports and secrets, start, readiness, stop."""

import os
import shutil
import signal
import time
import urllib.error
import urllib.request
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, ValidationError

from cluster.services import processes
from cluster.services.errors import ServiceError
from cluster.services.ports import is_free
from cluster.services.private_files import private_folder, write_private
from cluster.services.processes import ProcessRecord
from operators.local_paths import local_path

_TAIL_LINES = 15
_POLL_SECONDS = 0.1


class ServiceState(BaseModel):
    """What a later command has to know; kept in a file only the user can read."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    ports: dict[str, int] = {}
    """Chosen once, so that addresses outlive a restart."""

    secrets: dict[str, str] = {}
    """Generated once."""

    paths: dict[str, str] = {}
    """Folders outside the service's own."""

    processes: tuple[ProcessRecord, ...] = ()
    """The first is the one that was started, the others its descendants."""


class Service(ABC):
    """One server on this machine; stopped and started again it keeps its data, ports and secrets."""

    name: ClassVar[str]
    ready_seconds: ClassVar[float]
    stop_signal: ClassVar[signal.Signals] = signal.SIGTERM
    user: int | None = None
    """Another user to run as, by number."""

    def __init__(self, folder: Path, ports: Mapping[str, int] | None = None) -> None:
        self.folder = local_path(folder, "folder").absolute()
        self.log = self.folder / f"{self.name}.log"
        self.seconds_to_start = 0.0
        self._given_ports = dict(ports or {})
        self.reload()

    @abstractmethod
    def prepare(self) -> None:
        """Choose what is not yet chosen, with `remember`; write configuration; nothing is running yet."""

    @abstractmethod
    def command(self) -> list[str]:
        """What to run. Secrets have no place here: other users can read it."""

    @abstractmethod
    def is_ready(self) -> bool:
        """Whether a client would be served."""

    @abstractmethod
    def address(self) -> str:
        """Where it is, for people; no secrets."""

    @property
    @abstractmethod
    def env(self) -> dict[str, str]:
        """The variables a client needs."""

    def process_environment(self) -> dict[str, str]:
        """The variables the server itself gets."""
        return dict(os.environ)

    @property
    def running(self) -> bool:
        return bool(self.state.processes) and self.state.processes[0].find() is not None

    def reload(self) -> None:
        """Take over what another command may have changed."""
        self.state = self._read_state()

    @property
    def leftover(self) -> bool:
        """Whether any of its processes lives, be it without the first."""
        return any(record.find() for record in self.state.processes)

    def start(self) -> None:
        """Return once clients are served; nothing happens if it runs already."""
        if self.running:
            self._check_ports()
            return
        began = time.monotonic()
        private_folder(self.folder)
        self.stop()
        self.remember(ports=self.state.ports | self._given_ports)
        self.prepare()
        self._check_free()
        self.log.unlink(missing_ok=True)
        first = processes.spawn(self.command(), self.process_environment(), self._run_folder(), self.log, self.user)
        self.remember(processes=(first,))
        try:
            self._wait(first)
        except BaseException:
            self.stop()
            raise
        self.remember(processes=(first, *self._descendants(first)))
        self.seconds_to_start = time.monotonic() - began

    def stop(self) -> None:
        """Stop what `start` started and nothing else; nothing happens if it is stopped already."""
        survivors = processes.stop(self.state.processes, self.stop_signal)
        if survivors:
            raise ServiceError(f"{self.name}: process {survivors[0]} does not end; look at it and end it by hand.")
        if self.state.processes:
            self.remember(processes=())

    def erase(self) -> None:
        """Stop, and remove all data, secrets and logs."""
        self.stop()
        for path in [*self.state.paths.values(), str(self.folder)]:
            shutil.rmtree(path, ignore_errors=True)
        self.state = ServiceState()

    def remember(self, **changes: object) -> None:
        """Replace parts of the state, on disk first."""
        state = self.state.model_copy(update=changes)
        write_private(self._state_file, state.model_dump_json(indent=1))
        self.state = state

    def port(self, name: str) -> int:
        return self.state.ports[name]

    def _run_folder(self) -> Path:
        return self.folder

    @property
    def _state_file(self) -> Path:
        return self.folder / f"{self.name}.json"

    def _read_state(self) -> ServiceState:
        try:
            return ServiceState.model_validate_json(self._state_file.read_text())
        except FileNotFoundError:
            return ServiceState()
        except ValidationError:
            raise ServiceError(f"{self._state_file}: it is damaged; end {self.name} by hand and remove it.") from None

    def _check_ports(self) -> None:
        for name, port in self._given_ports.items():
            if self.port(name) != port:
                raise ServiceError(f"{self.name}: it runs on port {self.port(name)}, not {port}; stop it first.")

    def _check_free(self) -> None:
        for port in self.state.ports.values():
            if not is_free(port):
                raise ServiceError(
                    f"{self.name}: port {port} is taken; end the program that uses it, or choose another."
                )

    def _descendants(self, first: ProcessRecord) -> list[ProcessRecord]:
        return [ProcessRecord.of(process) for process in processes.tree([first]) if process.pid != first.pid]

    def _wait(self, first: ProcessRecord) -> None:
        deadline = time.monotonic() + self.ready_seconds
        while not self.is_ready():
            if first.find() is None:
                raise ServiceError(f"{self.name} ended while starting; {self._last_words()}")
            if time.monotonic() > deadline:
                raise ServiceError(f"{self.name} was not ready after {self.ready_seconds:g} s; {self._last_words()}")
            time.sleep(_POLL_SECONDS)

    def _last_words(self) -> str:
        lines = self.log.read_text(errors="replace").splitlines() if self.log.exists() else []
        return "\n  ".join([f"the end of {self.log} says:", *lines[-_TAIL_LINES:]])


def answers(url: str, headers: Mapping[str, str] | None = None) -> bool:
    """Whether a GET of this local address succeeds."""
    # a proxy meant for the outside world must not be asked for this machine
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(urllib.request.Request(url, headers=dict(headers or {})), timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError, ValueError):
        return False
