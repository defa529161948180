"""Several Ray nodes on this machine, with counted GPUs that are no devices: nodes to add, to kill, and to count.

The nodes belong to a process of their own, which obeys lines of JSON: Ray keeps the token and the address of its first
cluster for a process's whole life, and the caller's life goes on.
"""

import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psutil

ROOT = Path(__file__).resolve().parents[1]
_STORE_BYTES = 80 * 2**20


@dataclass(frozen=True)
class Node:
    """A node by the process that is its heart."""

    raylet: int


class RayNodes:
    """A head that reads and scores, and nodes with one counted GPU each."""

    def __init__(self, cpus: int = 2, **environment: str):
        # Ray's sockets need a short path; a lost node is noticed after five failed checks, of a second each
        self._folder = tempfile.mkdtemp(prefix="rn", dir="/tmp")
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")} | {
            "RAY_TMPDIR": self._folder,
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": secrets.token_hex(32),
            "RAY_health_check_initial_delay_ms": "1000",
            "RAY_health_check_period_ms": "1000",
            "RAY_health_check_timeout_ms": "20000",
            "PYTHONPATH": str(ROOT),
            "OMP_NUM_THREADS": "1",
            **environment,
        }
        self._keeper = subprocess.Popen(
            [sys.executable, "-m", "bench.ray_nodes", str(cpus)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env=self.environment,
            start_new_session=True,
        )
        self.nodes: list[Node] = []
        self._sweeps: list[subprocess.Popen[str]] = []
        self.address: str = self._answer()["address"]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for sweep in self._sweeps:
            if sweep.poll() is None:  # whoever waited for it was interrupted
                sweep.kill()
        self._keeper.communicate()  # the end of its input is its end
        shutil.rmtree(self._folder, ignore_errors=True)

    def add(self, cpus: int = 0) -> Node:
        """One more node with one counted GPU."""
        node = Node(self._ask({"add": cpus})["raylet"])
        self.nodes.append(node)
        return node

    def kill(self, node: Node) -> None:
        """The node goes as a spot instance goes: at once."""
        self.nodes.remove(node)
        self._ask({"kill": node.raylet})

    def keep(self, count: int) -> None:
        """Exactly so many nodes with a GPU."""
        while len(self.nodes) > count:
            self.kill(self.nodes[-1])
        while len(self.nodes) < count:
            self.add()

    def start_sweep(self, spec: Path, **environment: str) -> "subprocess.Popen[str]":
        """`g2d2 sweep` on this cluster, as a submitted job would run it."""
        sweep = subprocess.Popen(
            [sys.executable, "-m", "pipelines.cli", "sweep", str(spec), "--json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env=self.environment | {"RAY_ADDRESS": self.address} | environment,
            start_new_session=True,
        )
        self._sweeps.append(sweep)
        return sweep

    def solver_processes(self) -> list[psutil.Process]:
        """The worker processes that hold a device, on all nodes."""
        found = []
        for node in self.nodes:
            for child in psutil.Process(node.raylet).children(recursive=True):
                try:
                    title = " ".join(child.cmdline())
                except psutil.NoSuchProcess:
                    continue
                if "SolveStage" in title:
                    found.append(child)
        return found

    def _ask(self, command: dict[str, int]) -> dict[str, Any]:
        assert self._keeper.stdin is not None
        print(json.dumps(command), file=self._keeper.stdin, flush=True)
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._keeper.stdout is not None
        for line in self._keeper.stdout:
            if line.startswith("{"):  # Ray may add lines of its own
                answer: dict[str, Any] = json.loads(line)
                return answer
        raise RuntimeError("the process that keeps the Ray nodes has ended")


def wait_until(condition: Callable[[], bool], process: "subprocess.Popen[str]", seconds: float = 240) -> None:
    """Wait for a condition while a sweep runs."""
    deadline = time.monotonic() + seconds
    while not condition():
        if process.poll() is not None:
            raise RuntimeError(f"the sweep ended early: {process.communicate()[1][-2000:]}")
        if time.monotonic() > deadline:
            raise TimeoutError("it did not happen in time")
        time.sleep(0.2)


def _keep_nodes(cpus: int) -> None:
    """Obey until the input ends."""
    from ray.cluster_utils import Cluster

    sizes = {"object_store_memory": _STORE_BYTES}
    cluster = Cluster(
        initialize_head=True, head_node_args=sizes | {"num_cpus": cpus, "num_gpus": 0, "include_dashboard": False}
    )
    print(json.dumps({"address": cluster.address}), flush=True)
    nodes: dict[int, Any] = {}
    try:
        for line in sys.stdin:
            command = json.loads(line)
            if "add" in command:
                node = cluster.add_node(num_cpus=command["add"], num_gpus=1, **sizes)
                raylet = node.all_processes["raylet"][0].process.pid
                nodes[raylet] = node
                print(json.dumps({"raylet": raylet}), flush=True)
            else:
                node = nodes.pop(command["kill"])
                node.all_processes["raylet"][0].process.kill()
                cluster.remove_node(node, allow_graceful=False)
                print(json.dumps({}), flush=True)
    finally:
        cluster.shutdown()


if __name__ == "__main__":
    _keep_nodes(int(sys.argv[1]))
