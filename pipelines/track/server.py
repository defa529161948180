"""Where runs go, and how long to wait for it: the tracking address, MLflow's client, bounded retries."""

import logging
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field

from operators import InputError
from operators.store_urls import parse_url
from operators.validation import validate
from pipelines.plan.sweep_spec import Tracking
from pipelines.storage.retrying import retrying

SECONDS_VARIABLE = "G2D2_TRACKING_RETRY_SECONDS"
_SCHEMES = ("http", "https", "sqlite", "postgresql", "mysql", "mssql", "databricks")
_DEFAULTS = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "DO_NOT_TRACK": "true",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "MLFLOW_LOGGING_LEVEL": "CRITICAL",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "30",
    # MLflow would repeat a lost `create` blindly and make a run twice; the retries here search first
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0",
    "GIT_PYTHON_REFRESH": "quiet",
}
_KIND = {"mlflow.experimentKind": "custom_model_development"}  # or MLflow shows the pages made for chat traces
_WORTH_WAITING = {"TEMPORARILY_UNAVAILABLE", "REQUEST_LIMIT_EXCEEDED", "DEADLINE_EXCEEDED", "INTERNAL_ERROR"}

Result = TypeVar("Result")


class TrackingError(InputError):
    """The results are complete; only their logging is not."""


class _Patience(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    seconds: float = Field(default=120.0, ge=0, alias=SECONDS_VARIABLE)


@dataclass(frozen=True)
class Destination:
    """A tracking address and where its runs keep artifacts."""

    uri: str = field(repr=False)
    artifacts: str | None
    """Artifact root of a new experiment; None leaves it to the server."""

    @property
    def shown(self) -> str:
        """The address as it may be printed."""
        return without_credentials(self.uri).partition("?")[0]

    @property
    def is_server(self) -> bool:
        return self.uri.startswith(("http://", "https://"))

    def browser(self) -> str:
        """Where MLflow's pages are, or are once `mlflow ui` runs."""
        return self.shown.rstrip("/") if self.is_server else "http://127.0.0.1:5000"

    def run_url(self, experiment: str, run: str) -> str:
        """Where a browser finds a run; the address itself where there is no server."""
        return f"{self.browser()}/{run_path(experiment, run)}" if self.is_server else self.shown


def run_path(experiment: str, run: str) -> str:
    """Of a run's page, within MLflow's pages; without its end they turn into those for chat traces."""
    return f"#/experiments/{experiment}/runs/{run}?workflowType=machine_learning"


def without_credentials(text: str) -> str:
    """The text without the `user:password@` of any URL in it."""
    return re.sub(r"://\S*@", "://", text)  # up to the last @: a password may hold one


def destination(tracking: Tracking, output: str) -> Destination:
    """The specification's address, MLFLOW_TRACKING_URI, or a sqlite file in a local output folder."""
    location = parse_url(output)
    uri = tracking.uri or os.environ.get("MLFLOW_TRACKING_URI")
    if not uri:
        if location.bucket is not None:
            raise InputError(
                f"tracking.uri is not set, and results in {output} need it: set it, or MLFLOW_TRACKING_URI, to an "
                "MLflow server, as http://host:5000."
            )
        uri = f"sqlite:///{location.path}/mlflow.db"
    scheme = urlsplit(uri).scheme.partition("+")[0]
    if scheme not in _SCHEMES and uri != "databricks":
        raise InputError(
            f"tracking.uri is {without_credentials(uri)!r}: it must be http(s)://host:port of a server or "
            "sqlite:///file.db; MLflow no longer writes to plain folders."
        )
    if scheme == "sqlite":
        database = Path(uri.partition("?")[0].removeprefix("sqlite:///"))
        return Destination(uri, (database.absolute().parent / "mlartifacts").as_uri())
    if scheme in ("http", "https", "databricks", ""):
        return Destination(uri, None)
    return Destination(uri, f"{'' if location.bucket else 'file://'}{output.rstrip('/')}/mlartifacts")


class Server:
    """MLflow's client behind retries: each call is tried again for a while, then told as one sentence."""

    def __init__(self, place: Destination, results: str):
        given = {name: os.environ[name] for name in (SECONDS_VARIABLE,) if name in os.environ}
        self.seconds = validate(_Patience, given, where="environment").seconds
        self.place, self.results = place, results
        prepare_mlflow()
        from mlflow import MlflowClient

        self.client: Any = self.call(lambda: MlflowClient(tracking_uri=place.uri))

    def call(self, action: Callable[[], Result]) -> Result:
        """The result of an action on the client; a TrackingError when it cannot be had."""
        try:
            return retrying(action, self._worth_waiting, self.seconds, f"MLflow at {self.place.shown}")
        except Exception as error:  # whatever MLflow, its database or its artifact store raise
            said = without_credentials(" ".join(str(error).split()) or type(error).__name__)
            raise TrackingError(
                f"MLflow at {self.place.shown} failed ({said[:200]}): the results are complete in {self.results}, and "
                f"`g2d2 track {self.results}` finishes the logging."
            ) from None

    def experiment(self, name: str) -> str:
        """The id of an experiment, created where there is none."""
        found = self.call(lambda: self.client.get_experiment_by_name(name))
        if found is None:
            return self.call(lambda: self._create_experiment(name))
        if found.lifecycle_stage != "active":
            raise InputError(
                f"tracking.experiment is {name!r}, which was deleted in MLflow: restore it or choose another name."
            )
        return str(found.experiment_id)

    def _create_experiment(self, name: str) -> str:
        from mlflow.exceptions import MlflowException

        try:
            return str(self.client.create_experiment(name, artifact_location=self.place.artifacts, tags=_KIND))
        except MlflowException as error:
            if error.error_code != "RESOURCE_ALREADY_EXISTS":  # another sweep was first, or our answer got lost
                raise
            return str(self.client.get_experiment_by_name(name).experiment_id)

    def _worth_waiting(self, error: BaseException) -> bool:
        import requests
        from sqlalchemy.exc import OperationalError

        if self.place.uri.startswith("sqlite:"):
            return "locked" in str(error)
        if isinstance(error, requests.HTTPError) and error.response is not None:
            return error.response.status_code in (408, 429) or error.response.status_code >= 500
        if isinstance(error, (requests.RequestException, OperationalError, ConnectionError)):
            return True
        return getattr(error, "error_code", None) in _WORTH_WAITING


def prepare_mlflow() -> None:
    """Defaults a user's own environment overrides: nothing sent home, nothing chatted, no hidden retries."""
    for name, value in _DEFAULTS.items():
        os.environ.setdefault(name, value)
    import mlflow  # noqa: F401  # configures its loggers, perhaps long before this call

    logging.getLogger("mlflow").setLevel(os.environ["MLFLOW_LOGGING_LEVEL"].upper())
    logging.getLogger("alembic").setLevel(logging.WARNING)
