"""What Ray's cluster launcher needs on every cloud: an on-demand head, GPU workers that come and go, a token."""

import shlex
from dataclasses import dataclass
from typing import Any

from cluster.files.values import ClusterValues

HEAD, WORKER = "head", "gpu-worker"
HOME = "/home/ray"
"""Of the user in the container image."""
TOKEN_FILE = "~/.ray/auth_token"
"""Where `ray get-auth-token --generate` puts it on your machine."""
_PORT = 6379


@dataclass(frozen=True)
class Node:
    """A kind of machine as one cloud describes it."""

    config: dict[str, Any]
    resources: dict[str, int]


def launcher_file(values: ClusterValues, provider: dict[str, Any], head: Node, worker: Node) -> dict[str, Any]:
    """The cluster file. Nothing is installed on the machines: the image has everything."""
    return {
        "cluster_name": values.name,
        "max_workers": values.workers.max,
        "upscaling_speed": 1.0,
        "idle_timeout_minutes": values.workers.idle_minutes,
        "docker": {
            "image": values.image,
            "container_name": values.name,
            "pull_before_run": True,
            "run_options": [*_variables(values), "--ulimit nofile=65536:65536"],
        },
        "provider": provider,
        "auth": {"ssh_user": "ubuntu"},
        "available_node_types": {
            HEAD: {"node_config": head.config, "resources": head.resources, "min_workers": 0, "max_workers": 0},
            WORKER: {
                "node_config": worker.config,
                "resources": worker.resources,
                "min_workers": values.workers.min,
                "max_workers": values.workers.max,
            },
        },
        "head_node_type": HEAD,
        "file_mounts": _secrets(values),
        "initialization_commands": [],
        "setup_commands": [],
        "head_setup_commands": [],
        "worker_setup_commands": [],
        "head_start_ray_commands": ["ray stop", _start_head()],
        "worker_start_ray_commands": ["ray stop", f"ray start --address=$RAY_HEAD_IP:{_PORT}"],
    }


def _variables(values: ClusterValues) -> list[str]:
    """For the container, so that Ray, jobs and `ray exec` all see them; Ray joins these words for a shell."""
    return [f"-e {shlex.quote(f'{name}={value}')}" for name, value in values.environment().items()]


def _secrets(values: ClusterValues) -> dict[str, str]:
    """Files with secrets by their place in the container: copied from your machine over SSH, never written here."""
    mounts = {f"{HOME}/.ray/auth_token": TOKEN_FILE}
    return mounts if values.credentials is None else mounts | {f"{HOME}/.aws/credentials": values.credentials}


def _start_head() -> str:
    """The head lends no cores: it drives the sweep, and must not run out of memory for a score."""
    options = [
        f"--port={_PORT}",
        "--num-cpus=0",
        "--dashboard-host=127.0.0.1",
        "--disable-usage-stats",
        "--autoscaling-config=~/ray_bootstrap_config.yaml",
    ]
    return f"ray start --head {' '.join(options)}"
