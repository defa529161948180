"""An MLflow server on PostgreSQL, with artifacts on local disk so that clients need no keys for them."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from cluster.services.ports import HOST, free_ports
from cluster.services.postgres import Postgres
from cluster.services.private_files import private_folder
from cluster.services.service import Service, answers

QUIET = {"MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "1"}


class Tracking(Service):
    """Serves this machine only: requests that name another host are refused by MLflow itself."""

    name = "mlflow"
    ready_seconds = 240.0

    def __init__(self, folder: Path, postgres: Postgres, ports: Mapping[str, int] | None = None) -> None:
        super().__init__(folder, ports)
        self.postgres = postgres

    @property
    def uri(self) -> str:
        return f"http://{HOST}:{self.port('http')}"

    def prepare(self) -> None:
        self.postgres.start()
        ports = self.state.ports or dict(zip(["http"], free_ports(1), strict=True))
        self.remember(ports=ports)
        private_folder(self.folder / "artifacts")

    def command(self) -> list[str]:
        artifacts = (self.folder / "artifacts").as_uri()
        where = ["--host", HOST, "--port", str(self.port("http")), "--artifacts-destination", artifacts]
        return [sys.executable, "-m", "mlflow", "server", *where, "--workers", "1"]

    def process_environment(self) -> dict[str, str]:
        own = {"MLFLOW_BACKEND_STORE_URI": self.postgres.uri, "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
        inherited = {key: value for key, value in os.environ.items() if key != "MLFLOW_TRACKING_URI"}
        return inherited | own | QUIET

    def is_ready(self) -> bool:
        return answers(f"{self.uri}/health")

    def address(self) -> str:
        return self.uri

    @property
    def env(self) -> dict[str, str]:
        return {"MLFLOW_TRACKING_URI": self.uri, **QUIET}
