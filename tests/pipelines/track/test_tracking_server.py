"""Where runs go: the address, what is said when it is bad or away, and what must never be written."""

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from operators import InputError
from pipelines.cli import main
from pipelines.plan.sweep_spec import Tracking
from pipelines.track import TrackingError, server, track_folder
from pipelines.track.server import destination, without_credentials


def test_the_address_is_the_specifications_then_the_environments_then_a_file(monkeypatch, tmp_path):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://from-environment:5000")
    given = Tracking(uri="https://mlflow.example")
    assert destination(given, "s3://bucket/sweep").uri == "https://mlflow.example"
    assert destination(Tracking(), "s3://bucket/sweep").uri == "http://from-environment:5000"
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    local = destination(Tracking(), str(tmp_path))
    assert local.uri == f"sqlite:///{tmp_path}/mlflow.db"
    assert local.artifacts == f"file://{tmp_path}/mlartifacts"


def test_a_bucket_needs_an_address(monkeypatch):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    with pytest.raises(InputError, match=r"tracking.uri is not set, and results in s3://bucket/sweep need it"):
        destination(Tracking(), "s3://bucket/sweep")


@pytest.mark.parametrize("uri", ["file:///tmp/mlruns", "mlruns", "ftp://host/x"])
def test_other_kinds_of_address_are_refused(uri, tmp_path):
    with pytest.raises(InputError, match=r"tracking.uri is .*: it must be http"):
        destination(Tracking(uri=uri), str(tmp_path))


def test_passwords_are_never_shown(monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "https://me:p@ss/word@host/path?token=abc")
    place = destination(Tracking(), "s3://bucket/sweep")
    assert place.shown == "https://host/path"
    assert "p@ss" not in repr(place)
    assert without_credentials("failed for postgresql://u:secret@h/db") == "failed for postgresql://h/db"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_a_server_that_is_away_is_told_in_one_sentence(sweep, monkeypatch, capsys):
    address = f"127.0.0.1:{free_port()}"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://me:hunter2@{address}")
    monkeypatch.setenv(server.SECONDS_VARIABLE, "0.5")
    with pytest.raises(TrackingError) as caught:
        track_folder(sweep.url)
    said = str(caught.value)
    assert said.startswith(f"MLflow at http://{address} failed (")
    assert said.endswith(f"the results are complete in {sweep.url}, and `g2d2 track {sweep.url}` finishes the logging.")
    assert "hunter2" not in said
    assert main(["track", sweep.url]) == 2
    assert "hunter2" not in capsys.readouterr().err


def test_patience_must_be_a_number(sweep, monkeypatch):
    monkeypatch.setenv(server.SECONDS_VARIABLE, "soon")
    with pytest.raises(InputError, match=f"environment: {server.SECONDS_VARIABLE} is 'soon'"):
        track_folder(sweep.url)


def test_no_secret_reaches_database_or_artifacts(sweep, monkeypatch):
    secrets = {"AWS_SECRET_ACCESS_KEY": "planted-aws-secret", "MLFLOW_TRACKING_PASSWORD": "planted-password"}
    for name, value in secrets.items():
        monkeypatch.setenv(name, value)
    track_folder(sweep.url)
    written = [path for path in Path(sweep.url).rglob("*") if path.is_file()]
    assert any(path.name == "mlflow.db" for path in written)
    assert any(path.name == "spec.yaml" for path in written)
    for path in written:
        content = path.read_bytes()
        assert not any(secret.encode() in content for secret in [*secrets.values(), "a-private-host"]) or (
            path.parent.name == "solved"
        )


def test_the_command_prints_what_it_did(sweep, capsys):
    assert main(["track", sweep.url, "--json"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["cells_logged"] == 4
    assert main(["track", sweep.url]) == 0
    assert "0 cells logged, 4 were there already" in capsys.readouterr().out
    assert main(["track", f"{sweep.url}-missing"]) == 2
    assert "there is no sweep here" in capsys.readouterr().err


def test_a_first_logging_is_silent(make_sweep):
    sweep = make_sweep(eta_kl=[0.001], process=["star"])
    Path(sweep.url, "mlflow.db").unlink()  # so that MLflow makes its tables, which it likes to talk about
    done = subprocess.run(
        [sys.executable, "-m", "pipelines.cli", "track", sweep.url], capture_output=True, text=True, timeout=300
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("experiment g2d2: 1 cell logged, 0 were there already\nMLflow: ")
