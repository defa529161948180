"""Work that took its worker with it: a note in the store while it runs, read by whoever tries it again."""

import json
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from pipelines.storage import MissingObjectError, readable
from pipelines.storage.sweep_folder import SweepFolder

HUNG, DIED = "hung", "died"
HANGS, DEATHS = 2, 5
"""How often the same work may take too long, or end its worker, before it is given up."""


@dataclass(frozen=True)
class Attempt:
    """Items that one worker tried together."""

    items: list[str]
    device: str
    node: str
    started: float
    fate: str = ""


@dataclass(frozen=True)
class Worker:
    """Who tries: the run of the sweep it belongs to, the device it has and the machine it is on."""

    run: str
    device: str
    node: str = ""
    living: Callable[[], Iterable[str]] = tuple
    """Machines that are there now. Work that was lost with its machine is not to blame."""


@dataclass
class Attempts:
    """The attempts at one piece of work by this run of a sweep, kept under `name` until it is done."""

    folder: SweepFolder
    name: str
    worker: Worker
    failed: list[Attempt] = field(default_factory=list)
    running: Attempt | None = None

    @classmethod
    def open(cls, folder: SweepFolder, name: str, worker: Worker) -> "Attempts":
        """What earlier workers of this run left behind; an unfinished attempt took its worker with it."""
        note = read_note(folder, name)
        if note is None or note["run"] != worker.run:
            return cls(folder, name, worker)
        failed = [Attempt(**attempt) for attempt in note["failed"]]
        if note["running"] is not None:
            left = Attempt(**note["running"])
            if left.node == worker.node or left.node in worker.living():
                failed.append(Attempt(left.items, left.device, left.node, left.started, DIED))
        return cls(folder, name, worker, failed)

    def begin(self, items: list[str]) -> None:
        """These are tried together now."""
        self.running = Attempt(items, self.worker.device, self.worker.node, time.time())
        self._write()

    def hung(self) -> None:
        """What is running takes too long, and this process is about to end."""
        if self.running is not None:
            attempt = self.running
            self.failed.append(Attempt(attempt.items, attempt.device, attempt.node, attempt.started, HUNG))
            self.running = None
            self._write()

    def done(self) -> None:
        """It is committed: nothing of it needs to be remembered."""
        self.folder.store.delete(note_name(self.name))

    def hangs(self, item: str) -> int:
        return self._count(item, HUNG)

    def deaths(self, item: str) -> int:
        return self._count(item, DIED)

    def _count(self, item: str, fate: str) -> int:
        return sum(item in attempt.items and attempt.fate == fate for attempt in self.failed)

    def _write(self) -> None:
        note = {
            "run": self.worker.run,
            "failed": [asdict(attempt) for attempt in self.failed],
            "running": None if self.running is None else asdict(self.running),
        }
        self.folder.store.write_bytes(note_name(self.name), json.dumps(note).encode())


def note_name(name: str) -> str:
    return f"attempts/{name}.json"


def read_note(folder: SweepFolder, name: str) -> dict[str, Any] | None:
    """The note as it stands, or None."""
    try:
        content = folder.store.read_bytes(note_name(name))
    except MissingObjectError:
        return None
    with readable(folder.store.url(note_name(name))):
        note: dict[str, Any] = json.loads(content)
    return note


def noted(folder: SweepFolder) -> list[str]:
    """Names of all work that is noted."""
    return [name.removeprefix("attempts/").removesuffix(".json") for name in folder.store.list("attempts/")]


def forget(folder: SweepFolder) -> None:
    """Remove what workers that died for good have left."""
    for name in noted(folder):
        folder.store.delete(note_name(name))
