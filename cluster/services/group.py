"""The services of one folder together: start, stop, states, and the variables that clients need."""

import fcntl
import os
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from cluster.services.errors import ServiceError
from cluster.services.object_store import ObjectStore
from cluster.services.postgres import Postgres
from cluster.services.private_files import private_folder, write_private
from cluster.services.ray_head import RayHead
from cluster.services.service import Service
from cluster.services.tracking import Tracking
from operators.local_paths import local_path

NAMES = ("store", "postgres", "mlflow", "ray")
DEFAULT = ("store", "postgres", "mlflow")
_GIVEN_PORTS = {"store": "s3", "mlflow": "http", "ray": "dashboard"}


def default_folder() -> Path:
    """Where services live unless another folder is named: below XDG_STATE_HOME, or its usual place."""
    state = os.environ.get("XDG_STATE_HOME")
    return (Path(state) if state else Path.home() / ".local" / "state") / "g2d2" / "services"


class ServiceGroup:
    """Each service has a folder of its own below `folder`; `folder / "env"` holds what clients need."""

    def __init__(self, folder: Path, ports: Mapping[str, int] | None = None) -> None:
        self.folder = local_path(folder, "folder").absolute()
        given = {name: {_GIVEN_PORTS[name]: port} for name, port in (ports or {}).items()}
        postgres = Postgres(self.folder / "postgres")
        self.services: dict[str, Service] = {
            "store": ObjectStore(self.folder / "store", given.get("store")),
            "postgres": postgres,
            "mlflow": Tracking(self.folder / "mlflow", postgres, given.get("mlflow")),
            "ray": RayHead(self.folder / "ray", given.get("ray"), self.environment),
        }

    @property
    def environment_file(self) -> Path:
        return self.folder / "env"

    def start(
        self, names: Collection[str] = DEFAULT, announce: Callable[[Service], None] = lambda service: None
    ) -> None:
        """Start those named, and PostgreSQL for MLflow; `announce` is called with each as it becomes ready."""
        wanted = {*names, "postgres"} if "mlflow" in names else {*names}
        with self._locked():
            for name in NAMES:
                if name in wanted:
                    self.services[name].start()
                    self._write_environment()
                    announce(self.services[name])

    def stop(self, names: Collection[str] = NAMES, erase: bool = False) -> list[str]:
        """Stop those named, last started first; the names of those that ran."""
        if not self.folder.exists():
            return []
        if "postgres" in names and "mlflow" not in names and self.services["mlflow"].running:
            raise ServiceError("postgres: mlflow needs it; stop both with --only mlflow postgres.")
        with self._locked():
            ran = []
            for service in (self.services[name] for name in reversed(NAMES) if name in names):
                if service.leftover:
                    ran.append(service.name)
                if erase:
                    service.erase()
                else:
                    service.stop()
            self._write_environment()
        return ran

    def environment(self) -> dict[str, str]:
        """What clients of the running services need, secrets included."""
        running = [service for service in self.services.values() if service.running]
        return {key: value for service in running for key, value in service.env.items()}

    def _write_environment(self) -> None:
        lines = [f"{key}={shlex.quote(value)}\n" for key, value in self.environment().items()]
        write_private(self.environment_file, "".join(lines))

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Two commands at once would start everything twice."""
        private_folder(self.folder)
        descriptor = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for service in self.services.values():
                service.reload()
            yield
        except BlockingIOError:
            raise ServiceError(f"services: another command is at work in {self.folder}; wait for it.") from None
        finally:
            os.close(descriptor)
