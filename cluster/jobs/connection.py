"""A cluster's dashboard behind Ray's own client: an address, a token, and every failure as one sentence."""

import os
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from cluster.ray_token import token
from operators import InputError

_ADDRESS_VARIABLES = ("RAY_API_SERVER_ADDRESS", "RAY_ADDRESS")
_NOT_RAY = (ValueError, KeyError, TypeError)
"""What reading the answer of some other server gives."""
_HOSTS_SECONDS = 20.0
_ENDED = ("SUCCEEDED", "FAILED", "STOPPED")


class UnreachableError(InputError):
    """The dashboard did not answer; it may later."""


class UnknownJobError(InputError):
    """The cluster has no such job."""


class DuplicateJobError(InputError):
    """Another job has this id already."""


@dataclass(frozen=True)
class Job:
    """A submitted job as the cluster knows it."""

    id: str
    state: str
    """PENDING, RUNNING, SUCCEEDED, FAILED or STOPPED."""
    exit_code: int | None
    """What its command ended with; None while it runs, and where it never ran."""
    message: str
    metadata: Mapping[str, str]
    started: int
    """Milliseconds since 1970."""

    @property
    def ended(self) -> bool:
        return self.state in _ENDED


def dashboard_url(address: str | None) -> str:
    """The address given, else Ray's variables for it; a `host:port` is taken as http."""
    text = address or next((value for name in _ADDRESS_VARIABLES if "://" in (value := os.environ.get(name, ""))), "")
    if not text:
        raise InputError(
            "--address: give the dashboard of the cluster, as http://head:8265, or RAY_API_SERVER_ADDRESS."
        )
    parts = urlsplit(text if "://" in text else f"http://{text}")
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
        raise InputError(
            f"--address: {parts.scheme}://{parts.hostname or ''} is not a dashboard; give http://head:8265 or https://."
        )
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"


class Dashboard:
    """A cluster's jobs and machines, by its dashboard's address."""

    def __init__(self, address: str | None = None) -> None:
        self.url = dashboard_url(address)
        os.environ["RAY_API_SERVER_ADDRESS"] = self.url  # Ray's client prefers this variable to its argument
        from cluster.jobs.ray_client import Client

        secret = token()
        with self._one_sentence():
            self._client: Any = Client(
                self.url, headers={} if secret is None else {"Authorization": f"Bearer {secret}"}
            )

    def jobs(self) -> list[Job]:
        """All submitted jobs, the latest last."""
        with self._one_sentence():
            jobs = [_job(details) for details in self._client.list_jobs() if details.submission_id]
        return sorted(jobs, key=lambda job: job.started)

    def job(self, job_id: str) -> Job:
        """The job of this id; an UnknownJobError if there is none."""
        with self._one_sentence():
            return _job(self._client.get_job_info(job_id))

    def submit(
        self, job_id: str, command: str, package: Path, variables: Mapping[str, str], metadata: Mapping[str, str]
    ) -> None:
        """Upload the package unless it is there, and start the command in it."""
        with self._one_sentence():
            self._client.submit_job(
                entrypoint=command,
                submission_id=job_id,
                runtime_env={"working_dir": str(package), "env_vars": dict(variables)},
                metadata=dict(metadata),
            )

    def stop(self, job_id: str) -> None:
        """Ask the job to end; it does so a little later."""
        with self._one_sentence():
            self._client.stop_job(job_id)

    def logs(self, job_id: str) -> str:
        """All that the job has written."""
        with self._one_sentence():
            text: str = self._client.get_job_logs(job_id)
        return text

    async def tail(self, job_id: str) -> AsyncIterator[str]:
        """What the job writes, from its first line on, until it ends or the connection does."""
        with self._one_sentence():
            async for text in self._client.tail_job_logs(job_id):
                yield text

    def hosts(self) -> set[str]:
        """Names of the machines of the cluster; empty where the dashboard has no list of them."""
        deadline = time.monotonic() + _HOSTS_SECONDS
        while True:
            with self._one_sentence():
                names: list[str] | None = self._client.host_names()
            if names or names is None or time.monotonic() > deadline:
                return set(names or ())
            time.sleep(1)  # it has just started, and does not know even its own

    @contextmanager
    def _one_sentence(self) -> Iterator[None]:
        """A failure of the connection becomes an InputError of one sentence, without what was sent."""
        import aiohttp
        import requests
        from ray.exceptions import AuthenticationError

        try:
            yield
        except AuthenticationError:
            raise InputError(
                f"--address: the cluster at {self.url} asks for a token, and none or a wrong one was given; set "
                "RAY_AUTH_TOKEN, or RAY_AUTH_TOKEN_PATH to the file that holds it, "
                "or `export RAY_AUTH_MODE=token` to use ~/.ray/auth_token."
            ) from None
        except InputError:
            raise
        except (requests.exceptions.RequestException, aiohttp.ClientError, OSError, RuntimeError, *_NOT_RAY) as error:
            raise UnreachableError(
                f"--address: {self.url} does not answer as a Ray dashboard ({_reason(error)}); check the address, and "
                "that the head runs with its dashboard."
            ) from None


def _job(details: Any) -> Job:
    return Job(
        id=details.submission_id,
        state=str(details.status),
        exit_code=details.driver_exit_code,
        message=details.message or "",
        metadata=dict(details.metadata or {}),
        started=details.start_time or 0,
    )


def _reason(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:160]}" if text else type(error).__name__
