"""What a run talks to: a Ray cluster, a store, MLflow. Each is asked with the credentials a run would use."""

import os
import secrets
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from importlib.metadata import version
from pathlib import Path
from urllib.parse import urlsplit

from cluster.ray_token import token, token_file
from operators import InputError
from pipelines.doctor.check import Finding
from pipelines.storage import Store, open_store

PATIENCE = 10.0
"""Seconds: a doctor reports what is wrong now, where a sweep would wait for it to pass."""
_RAY_SECONDS = 60.0
_PROBE = b"g2d2 doctor was here"


def ray(address: str | None) -> Finding:
    """The cluster that sweeps would join answers, and takes our token."""
    address = address or os.environ.get("RAY_ADDRESS") or os.environ.get("RAY_API_SERVER_ADDRESS")
    if not address:
        return Finding("ok", f"{version('ray')}; no RAY_ADDRESS, so each sweep starts Ray here with a token of its own")
    parts = urlsplit(address if "://" in address else f"ray://{address}")
    if parts.username or parts.password or not parts.hostname or not parts.port:
        return Finding("fail", "the Ray address must be host:port or http://host:port, without credentials.")
    where = f"{parts.hostname}:{parts.port}"
    try:
        socket.create_connection((parts.hostname, parts.port), PATIENCE).close()
    except OSError:
        return Finding("fail", f"nothing answers at {where}: start the cluster or its port forward, or correct it.")
    refused = _ask_dashboard(f"{parts.scheme}://{where}") if parts.scheme.startswith("http") else _ask_gcs(where)
    return Finding("ok", f"{where} answers") if refused is None else Finding("fail", refused)


def ray_token() -> Finding:
    """Who holds the token runs code on the cluster."""
    if os.environ.get("RAY_AUTH_MODE", "token").lower() != "token":
        return Finding("note", "RAY_AUTH_MODE turns tokens off: who reaches a Ray port runs code; set it to `token`.")
    if os.environ.get("RAY_AUTH_TOKEN"):
        return Finding("ok", "from RAY_AUTH_TOKEN")
    file = token_file()
    if not file.exists():
        return Finding("ok", "none yet, and only clusters need one; `ray get-auth-token --generate` makes it")
    if file.stat().st_mode & 0o077:
        return Finding("note", f"others can read {file}: run `chmod 600 {file}`.")
    return Finding("ok", str(file))


def store(url: str | None) -> Finding:
    """A small object can be created, listed, read and removed, and is created once only."""
    if url is None:
        return Finding("ok", "none asked for; --store URL writes a small object there, reads it and removes it")
    try:
        place = open_store(url)
        _be_quick(place)
        problem = _probe(place)
    except InputError as error:
        return Finding("fail", str(error))
    return Finding("ok", f"{place.url()} can be listed, read and written") if problem is None else problem


def mlflow(uri: str | None) -> Finding:
    """The tracking server answers; a database file has a folder to be in."""
    from pipelines.plan.sweep_spec import Tracking
    from pipelines.track.server import destination

    uri = uri or os.environ.get("MLFLOW_TRACKING_URI")
    if not uri:
        return Finding("ok", "no MLFLOW_TRACKING_URI, so each sweep logs to mlflow.db in its output folder")
    try:
        place = destination(Tracking.model_construct(uri=uri), ".")
    except InputError as error:
        return Finding("fail", str(error))
    if uri.startswith("sqlite:"):
        folder = Path(uri.partition("?")[0].removeprefix("sqlite:///")).absolute().parent
        if not os.access(folder, os.W_OK):
            return Finding("fail", f"{place.shown} cannot be written: create {folder}, or correct its owner or mode.")
        return Finding("ok", place.shown)
    refused = _ask_mlflow(uri)
    return Finding("ok", f"{place.shown} answers") if refused is None else Finding("fail", f"{place.shown} {refused}")


def _ask_dashboard(url: str) -> str | None:
    try:
        secret = token()
    except InputError as error:
        return str(error)
    request = urllib.request.Request(
        f"{url}/api/version", headers={"Authorization": f"Bearer {secret}"} if secret else {}
    )
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE):
            return None
    except urllib.error.HTTPError as error:
        if error.code in (401, 403):
            return _refused(url, "refuses the token" if secret else "asks for a token")
        return f"{url} answers with {error.code}: this is no Ray dashboard; correct the address."
    except (OSError, ValueError):
        return f"{url} does not answer as a dashboard does: correct the address."


def _ask_gcs(where: str) -> str | None:
    """By Ray's own command, since its client ends the process when it is refused."""
    words = [str(Path(sys.executable).parent / "ray"), "health-check", "--address", where]
    environment = {"RAY_AUTH_MODE": "token", **os.environ}
    try:
        done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=_RAY_SECONDS)
    except subprocess.TimeoutExpired:
        return f"{where} does not answer as Ray does: correct the address."
    output = (done.stdout + done.stderr).lower()
    if done.returncode == 0:
        return None
    if "token" in output or "unauthenticated" in output:
        return _refused(where, "refuses the token")
    if "version" in output:
        return (
            f"{where} runs another version of Ray or Python: install Ray {version('ray')} there, or its version here."
        )
    return f"{where} does not answer as Ray does: correct the address."


def _ask_mlflow(uri: str) -> str | None:
    from pipelines.track.server import prepare_mlflow, without_credentials

    os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", str(round(PATIENCE)))
    prepare_mlflow()
    try:
        if uri.startswith(("http://", "https://", "databricks")):
            from mlflow import MlflowClient

            MlflowClient(tracking_uri=uri).search_experiments(max_results=1)
        else:
            from sqlalchemy import create_engine  # MLflow's client would create its tables

            create_engine(uri).connect().close()
    except Exception as error:  # whatever MLflow or the database's driver raise
        reason = without_credentials(" ".join(str(error).split()) or type(error).__name__)[:160]
        return (
            f"cannot be used ({reason}): start it, correct the address, or set MLFLOW_TRACKING_USERNAME and _PASSWORD."
        )
    return None


def _probe(place: Store) -> Finding | None:
    """What is wrong with a store that answers; None if nothing is."""
    name = f"g2d2-doctor-{secrets.token_hex(8)}"
    place.list(name)
    if not place.create_new(name, _PROBE):
        return Finding("fail", f"{place.url()} answers that a new name is taken: it cannot be trusted with results.")
    try:
        if place.read_bytes(name) != _PROBE or place.list(name) != [name]:
            return Finding("fail", f"{place.url()} does not give back what was written: use another store.")
        if place.create_new(name, b"again"):
            return Finding("fail", f"{place.url()} lets two writers win: exclusive writes need If-None-Match.")
    finally:
        place.delete(name)
    return None


def _be_quick(place: Store) -> None:
    if hasattr(place, "retry_seconds"):
        place.retry_seconds = min(place.retry_seconds, PATIENCE)


def _refused(where: str, how: str) -> str:
    return f"{where} {how}: set RAY_AUTH_TOKEN, or RAY_AUTH_MODE=token with the cluster's token in {token_file()}."
