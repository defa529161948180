"""The Ray that a command starts for itself: private, gone when its driver is, and missed with a sentence."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).parents[3]
CODE = """
from pipelines.solve.devices import connect
connect()
import ray
print(ray._private.worker._global_node.temp_dir, flush=True)
input()
"""

TASK = """
import os
from pipelines.solve.devices import connect
connect()
import ray

@ray.remote
def found():
    from operators.extensions import Extensions
    return Extensions("thing", "g2d2.nothing", {}, lambda thing: None).find("of_my_own_1:NAME")

print(ray.get(found.remote()), os.environ.get("G2D2_MODULES"))
"""


class Driver:
    """A process with a Ray of its own, in a session of its own: what it starts is known by that."""

    def __init__(self, **environment):
        clean = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
        self.process = subprocess.Popen(
            [sys.executable, "-c", CODE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=clean | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"} | environment,
            start_new_session=True,
        )
        self.folder = Path(self.process.stdout.readline().strip())
        assert self.folder.is_dir(), self.process.communicate()[1]
        self.guards = [p for p in self._children() if any("ray_guard" in word for word in p.cmdline())]

    def _children(self):
        return psutil.Process(self.process.pid).children()

    def kill(self, words):
        """End the one process that has this in its name, as the system would for memory."""
        (one,) = [p for p in psutil.Process(self.process.pid).children(recursive=True) if words in _name(p)]
        one.kill()

    def left(self):
        return [p for p in psutil.process_iter() if _session(p) == self.process.pid] + [
            guard for guard in self.guards if guard.is_running()
        ]

    def nothing_left(self, seconds):
        deadline = time.monotonic() + seconds
        while remaining := self.left():
            assert time.monotonic() < deadline, [_name(p) for p in remaining]
            time.sleep(0.1)

    def end(self):
        print(file=self.process.stdin, flush=True)
        return self.ended()

    def ended(self):
        """Its exit code and its stderr, once it has ended of itself."""
        code = self.process.wait(timeout=180)
        return code, self.process.stderr.read()


@pytest.fixture
def start():
    drivers = []

    def make(**environment):
        drivers.append(Driver(**environment))
        return drivers[-1]

    yield make
    for driver in drivers:
        for process in driver.left():
            with contextlib.suppress(psutil.Error):
                process.kill()
        driver.process.wait()


def _name(process):
    with contextlib.suppress(psutil.Error):
        return " ".join(process.cmdline()[:4])
    return ""


def _session(process):
    with contextlib.suppress(OSError):
        return os.getsid(process.pid)


def test_its_folder_is_closed_to_others_and_gone_afterwards(start):
    driver = start()
    assert driver.folder.parent.stat().st_mode & 0o777 == 0o700
    assert driver.guards
    assert driver.end() == (0, "")
    driver.nothing_left(0.5)
    assert not driver.folder.parent.exists()


@pytest.mark.parametrize("named", [True, False])
def test_its_workers_find_modules_of_ones_own(tmp_path, named):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "of_my_own_1.py").write_text("NAME = 'mine'\n")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("RAY_", "G2D2_"))}
    given = {"G2D2_MODULES": "mine"} if named else {}
    done = subprocess.run(
        [sys.executable, "-P", "-c", TASK],
        capture_output=True,
        text=True,
        timeout=180,
        cwd=tmp_path if named else tmp_path / "mine",
        env=clean | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"} | given,
    )
    assert done.stdout.split() == ["mine", str(given.get("G2D2_MODULES"))], done.stderr


def test_nothing_is_left_of_it_soon_after_its_driver_was_killed(start, tmp_path_factory):
    place = tmp_path_factory.mktemp("r")
    short = Path("/tmp") / f"g2d2-test-{os.getpid()}"
    short.symlink_to(place)  # a socket's path must be short
    try:
        driver = start(RAY_TMPDIR=str(short))
        assert driver.folder == short / "ray"
        driver.process.send_signal(signal.SIGKILL)
        driver.process.wait()
        driver.nothing_left(20)  # by itself, Ray takes a minute and more
        assert list(place.glob("ray/session_*"))  # who names a folder wants to look there
    finally:
        short.unlink()


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("RuntimeEnvAgent", "runtime environment agent"),
        pytest.param("DashboardAgent", "dashboard agent", marks=pytest.mark.slow),
        pytest.param("/raylet/raylet ", "node process", marks=pytest.mark.slow),
        pytest.param("gcs_server", "control process", marks=pytest.mark.slow),
    ],
)
def test_a_lost_process_of_it_is_named_and_the_command_could_not_run(start, words, name):
    driver = start()
    driver.kill(words)
    code, err = driver.ended()
    assert (code, err.count("\n")) == (2, 2), err
    assert f"Ray's {name} (" in err
    assert "finished results are kept, the same command goes on" in err
    driver.nothing_left(20)
    assert not driver.folder.parent.exists()
