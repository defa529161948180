"""Ray's client for jobs, with a limit to every wait and a kind of error for each thing that a caller would do."""

import logging
from typing import Any

from ray.dashboard.modules import dashboard_sdk
from ray.dashboard.modules.job import sdk
from ray.job_submission import JobSubmissionClient

from cluster.jobs.connection import DuplicateJobError, UnknownJobError, UnreachableError
from operators import InputError

_SECONDS = 60.0
"""Without a limit of its own, a request to a head that vanished would wait for ever."""

for module in (dashboard_sdk, sdk):
    logging.getLogger(module.__name__).setLevel(logging.WARNING)  # they log every upload and closed socket


class Client(JobSubmissionClient):  # type: ignore[misc]  # Ray has no types
    """As Ray's, but impatient."""

    def host_names(self) -> list[str] | None:
        """Names of the machines of living nodes; None from a dashboard that has no such list."""
        answer = self._do_request("GET", "/nodes?view=hostNameList")
        if answer.status_code != 200:
            return None
        return list((answer.json().get("data") or {}).get("hostNameList") or [])

    def _do_request(self, method: str, endpoint: str, **options: Any) -> Any:
        return super()._do_request(method, endpoint, **({"timeout": _SECONDS} | options))

    def _raise_error(self, r: Any) -> None:
        answer = " ".join(str(r.text).split())
        if "already exists" in answer:
            raise DuplicateJobError("job: its id is taken.")
        if r.status_code == 404:
            raise UnknownJobError(f"job: {answer[:200]}; the cluster may have been started anew since.")
        sentence = f"--address: {self._address} answered {r.status_code} ({answer[-300:]})."
        raise UnreachableError(sentence) if r.status_code >= 500 else InputError(sentence)
