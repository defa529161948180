"""`g2d2 submit` and plain `ray job submit` against a real Ray head with its dashboard, behind a token."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from cluster.jobs import Dashboard
from pipelines.cli import main
from pipelines.storage.sweep_folder import SweepFolder
from tests.pipelines.sweep_cases import build_manifest, specification, write_spec

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SECONDS = 500
WAITING = '''
"""Solves once a file exists, and only with the code that travelled."""
import os, time
from pathlib import Path

import pipelines
from g2d2.methods.g2d2 import G2D2
from submit_gate import GATE


class Waits(G2D2):
    def restore(self, prior, batch, record):
        if "runtime_resources" not in pipelines.__file__:
            raise RuntimeError(f"this is not the code that was sent: {pipelines.__file__}")
        print("a worker waits", flush=True)
        while not Path(os.environ[GATE]).exists():
            time.sleep(0.1)
        return super().restore(prior, batch, record)
'''


def write_solver(folder):
    """A solver of one's own, in two modules beside the specification."""
    (folder / "submit_waiting.py").write_text(WAITING)
    (folder / "submit_gate.py").write_text('GATE = "G2D2_TEST_GATE"\n')


@pytest.fixture(scope="module")
def head(ray_head):
    return ray_head


@pytest.fixture(autouse=True)
def client(head, monkeypatch):
    """This process as a client that knows the token and no address."""
    for name in [name for name in os.environ if name.startswith("RAY_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("RAY_API_SERVER_ADDRESS", "")
    monkeypatch.setenv("RAY_AUTH_TOKEN", head.env["RAY_AUTH_TOKEN"])
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture(scope="module")
def manifest(tmp_path_factory):
    return build_manifest(tmp_path_factory.mktemp("submitted"), pictures=2)


def submit(head, spec, *words):
    return main(["submit", str(spec), "--address", head.dashboard, *map(str, words)])


def jobs(head, output):
    return [job for job in Dashboard(head.dashboard).jobs() if job.metadata.get("g2d2_output") == str(output)]


def scored(output):
    folder = SweepFolder(str(output))
    return len(folder.scored_shards(folder.read_summary()["scoring"]))


class Proxy:
    """A way to the dashboard that can be cut, as a network is."""

    def __init__(self, port):
        self.target, self.pairs, self.closed = port, [], False
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                inner, _ = self.listener.accept()
            except OSError:
                return
            if self.closed:
                inner.close()
                continue
            outer = socket.create_connection(("127.0.0.1", self.target))
            self.pairs.append((inner, outer))
            for source, sink in ((inner, outer), (outer, inner)):
                threading.Thread(target=self._pump, args=(source, sink), daemon=True).start()

    def _pump(self, source, sink):
        try:
            while data := source.recv(65536):
                sink.sendall(data)
        except OSError:
            pass
        for end in (source, sink):
            end.close()

    def cut(self):
        self.closed = True
        for pair in self.pairs:
            for end in pair:
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    continue
        self.pairs = []


def attached(address, spec, results, *words):
    """Another shell that submits the same; its log and messages go to files."""
    results.mkdir()
    command = [sys.executable, "-m", "pipelines.cli", "submit", str(spec), "--address", address, *words]
    with (results / "out").open("w") as out, (results / "err").open("w") as err:
        # a shell that runs the tests in the background lets them, and this, ignore Ctrl-C
        heeding = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)}
        return subprocess.Popen(command, cwd=ROOT, stdout=out, stderr=err, **heeding)


def wait_for(condition, what):
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.5)


def test_a_sweep_runs_once_and_its_end_is_reported(head, manifest, tiny_prior, tmp_path, monkeypatch, capsys):
    write_solver(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setenv("G2D2_TEST_GATE", str(tmp_path))
    values = specification(manifest, tiny_prior, tmp_path / "o")
    values["solver"] |= {"method": "submit_waiting:Waits"}
    spec = write_spec(tmp_path / "spec.yaml", values)
    assert submit(head, spec, "--env", "G2D2_TEST_GATE") == 0
    out = capsys.readouterr().out
    assert "8 of 8 work items committed, 0 twice, 0 failed" in out

    assert submit(head, spec, "--env", "G2D2_TEST_GATE", "--json") == 0
    again = capsys.readouterr()
    assert "has done this work already" in again.err
    (job,) = jobs(head, tmp_path / "o")
    assert json.loads(again.out) == {"job": job.id, "state": "SUCCEEDED", "exit_code": 0}

    assert main(["status", str(spec), "--address", head.dashboard]) == 0
    assert f"job {job.id}: SUCCEEDED, exit code 0\nsmall: 8 of 8" in capsys.readouterr().out
    details = Dashboard(head.dashboard)._client.get_job_info(job.id)
    assert head.env["RAY_AUTH_TOKEN"] not in f"{details} {out} {again}"


def test_failed_rows_are_exit_code_1(head, tiny_prior, tmp_path, capsys):
    from PIL import Image

    (tmp_path / "p").mkdir()
    for number in range(2):
        Image.new("RGB", (8, 8), (90, 30 * number, 60)).save(tmp_path / "p" / f"{number}.png")
    (tmp_path / "list.csv").write_text(f"image_path,caption\np/0.png,{'x' * 300}\np/1.png,a b\n")
    measured = ["--operator", "identity", "--sigma", "0.1"]
    assert main(["manifest", "build", str(tmp_path / "list.csv"), str(tmp_path / "m"), *measured]) == 0
    spec = write_spec(tmp_path / "spec.yaml", specification(tmp_path / "m", tiny_prior, tmp_path / "o"))
    assert submit(head, spec) == 1
    told = capsys.readouterr()
    assert "8 of 8 work items committed, 0 twice, 4 failed" in told.out
    assert "ended with exit code 1" in told.err


def test_twice_is_once_and_a_stopped_job_goes_on(head, manifest, tiny_prior, tmp_path, monkeypatch, capsys):
    write_solver(tmp_path)
    gate = tmp_path / "gate"
    for name, value in {"G2D2_TEST_GATE": str(gate), "PYTHONPATH": str(tmp_path)}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.syspath_prepend(tmp_path)
    values = specification(manifest, tiny_prior, tmp_path / "o", name="stopped")
    values["solver"] |= {"method": "submit_waiting:Waits"}
    spec = write_spec(tmp_path / "spec.yaml", values)
    passing = ["--env", "G2D2_TEST_GATE"]

    assert submit(head, spec, "--no-wait", *passing) == 0
    proxy = Proxy(head.port("dashboard"))
    other = attached(f"http://127.0.0.1:{proxy.port}", spec, tmp_path / "1", *passing)
    left = attached(head.dashboard, spec, tmp_path / "2", *passing)
    for shell in ("1", "2"):
        wait_for(lambda s=shell: "Running entrypoint" in (tmp_path / s / "out").read_text(), "the log did not arrive")
    proxy.cut()
    left.send_signal(signal.SIGINT)
    assert left.wait(SECONDS) == 130
    assert "which goes on" in (tmp_path / "2" / "err").read_text()
    time.sleep(2)
    assert other.poll() is None, (tmp_path / "1" / "err").read_text()
    proxy.closed = False
    assert main(["status", str(spec), "--address", head.dashboard]) == 2
    assert submit(head, write_spec(tmp_path / "wider.yaml", values | {"seeds": [0, 1]}), *passing) == 2
    assert "is writing other work to" in capsys.readouterr().err

    assert submit(head, spec, "--stop") == 0
    assert other.wait(SECONDS) == 130
    told = (tmp_path / "1" / "err").read_text()
    assert "runs already; attached" in told
    assert "was stopped" in told
    assert (tmp_path / "1" / "out").read_text().count("Running entrypoint") == 1

    gate.touch()
    assert submit(head, spec, *passing) == 0
    assert [job.state for job in jobs(head, tmp_path / "o")] == ["STOPPED", "SUCCEEDED"]
    assert "8 of 8 work items committed, 0 twice, 0 failed" in capsys.readouterr().out
    assert scored(tmp_path / "o") == 2


TASK = """
from pipelines.solve.devices import connect
connect()
import ray

@ray.remote
def thing():
    from operators.extensions import Extensions
    return Extensions("thing", "g2d2.nothing", {}, lambda thing: None).find("of_my_own_2:NAME")

print(ray.get(thing.remote()))
"""


def test_workers_of_a_cluster_that_runs_find_modules_of_ones_own(head, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "of_my_own_2.py").write_text("NAME = 'mine'\n")
    environment = os.environ | head.env | {"PYTHONPATH": str(ROOT), "G2D2_MODULES": "mine"}
    words = [sys.executable, "-P", "-c", TASK]
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=SECONDS)
    assert done.stdout.split() == ["mine"], done.stderr


def test_plain_ray_job_submit_does_the_same_work(head, manifest, tiny_prior, tmp_path):
    spec = write_spec(tmp_path / "spec.yaml", specification(manifest, tiny_prior, tmp_path / "o"))
    ray = [str(Path(sys.executable).parent / "ray"), "job", "submit", "--address", head.dashboard]
    command = [*ray, "--working-dir", ".", "--", "python", "-m", "pipelines.cli", "sweep", str(spec), "--json"]
    environment = {name: value for name, value in os.environ.items() if name != "RAY_API_SERVER_ADDRESS"}
    done = subprocess.run(
        command, cwd=ROOT, env=environment | {"RAY_AUTH_MODE": "token"}, capture_output=True, text=True, timeout=SECONDS
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert '"expected": 8, "committed": 8, "failed": 0' in done.stdout
