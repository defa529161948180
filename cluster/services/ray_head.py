"""A Ray head with its dashboard, behind a token: who reaches a dashboard can run code."""

import os
import secrets
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from cluster.services.ports import HOST, free_ports
from cluster.services.service import Service, answers

_PORTS = ("gcs", "dashboard", "client", "agent")
_LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
"""The name is history: on any system it keeps all of Ray's ports on 127.0.0.1. Drivers must say the same."""


class RayHead(Service):
    """One node on this machine, for `ray job submit` and for drivers that name it as their address."""

    name = "ray"
    ready_seconds = 120.0

    def __init__(
        self, folder: Path, ports: Mapping[str, int] | None = None, neighbours: Callable[[], dict[str, str]] = dict
    ) -> None:
        super().__init__(folder, ports)
        self.neighbours = neighbours

    @property
    def dashboard(self) -> str:
        return f"http://{HOST}:{self.port('dashboard')}"

    def prepare(self) -> None:
        missing = [name for name in _PORTS if name not in self.state.ports]
        chosen = dict(zip(missing, free_ports(len(missing)), strict=True))
        # Ray keeps sockets there, whose paths must be short
        scratch = self.state.paths.get("scratch") or tempfile.mkdtemp(prefix="g2d2-ray-")
        os.makedirs(scratch, mode=0o700, exist_ok=True)
        self.remember(
            ports=self.state.ports | chosen,
            secrets=self.state.secrets or {"token": secrets.token_hex(32)},
            paths={"scratch": scratch},
        )

    def command(self) -> list[str]:
        ray = str(Path(sys.executable).parent / "ray")
        node = [f"--node-ip-address={HOST}", f"--port={self.port('gcs')}", f"--temp-dir={self.state.paths['scratch']}"]
        board = ["--include-dashboard=true", f"--dashboard-host={HOST}", f"--dashboard-port={self.port('dashboard')}"]
        # Ray's fixed ranges could hold a port chosen here, or one of a second head on this machine
        others = [
            f"--ray-client-server-port={self.port('client')}",
            f"--dashboard-agent-listen-port={self.port('agent')}",
        ]
        workers = ["--min-worker-port=0", "--max-worker-port=0"]
        return [ray, "start", "--head", "--block", "--disable-usage-stats", *node, *board, *others, *workers]

    def process_environment(self) -> dict[str, str]:
        """Jobs find this environment's programs, and the services that started before, by their PATH and variables."""
        inherited = {
            key: value for key, value in os.environ.items() if key not in ("RAY_ADDRESS", "RAY_AUTH_TOKEN_PATH")
        }
        path = {"PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])}
        return inherited | path | self.neighbours() | _LOOPBACK | self._token()

    def is_ready(self) -> bool:
        token = {"Authorization": f"Bearer {self.state.secrets['token']}"}
        return answers(f"{self.dashboard}/api/version", token) and answers(f"{self.dashboard}/api/jobs/", token)

    def stop(self) -> None:
        super().stop()
        if scratch := self.state.paths.get("scratch"):
            shutil.rmtree(scratch, ignore_errors=True)

    def address(self) -> str:
        return f"{HOST}:{self.port('gcs')}, dashboard {self.dashboard}"

    @property
    def env(self) -> dict[str, str]:
        return {
            "RAY_ADDRESS": f"{HOST}:{self.port('gcs')}",
            "RAY_API_SERVER_ADDRESS": self.dashboard,
            **_LOOPBACK,
            **self._token(),
        }

    def _token(self) -> dict[str, str]:
        return {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": self.state.secrets["token"]}
