"""One solver actor per device: how many there are, and what each may take."""

import os
import secrets
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

from operators import InputError
from operators.extensions import FOLDER_VARIABLE, own_modules
from operators.plurals import counted
from pipelines.console.interrupts import keeping_sigterm
from pipelines.console.terminal import without_lines
from pipelines.plan.sweep_spec import Resources
from pipelines.solve import own_ray

_CPU_ACTORS = 4
"""Actors that share a machine's cores without GPUs: several with few threads beat one with many."""
_ASK_SECONDS = 10.0
"""How often GPUs are asked for again: a sweep before this one leaves an actor that overwrites requests every 20 s."""


@dataclass(frozen=True)
class Placement:
    """Actors and what each of them reserves."""

    actors: int
    """To begin with."""
    most: int | None
    """When more devices join; None takes all that do."""
    gpus: float
    cpus: float
    threads: int | None
    """Torch threads of an actor; None leaves torch's choice on a GPU machine."""

    def __str__(self) -> str:
        if self.gpus:
            return counted(self.actors, "GPU")
        return f"{counted(self.actors, 'CPU actor')} of {counted(self.threads or 1, 'thread')}"


def connect() -> None:
    """Join the cluster that RAY_ADDRESS or the surrounding job names, else start Ray on this machine alone."""
    alone = not os.environ.get("RAY_ADDRESS")
    if alone and "ray" not in sys.modules:
        # the name is history: on any system it keeps all of Ray's ports on 127.0.0.1
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    if alone and "ray" not in sys.modules and "RAY_AUTH_MODE" not in os.environ:
        # Ray reads this when it is imported. A token for this run alone leaves nothing in the user's home.
        os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")  # its C++ side writes to the terminal otherwise
    import ray

    if ray.is_initialized():
        return
    if not alone:
        with keeping_sigterm():  # Ray installs a handler of its own
            ray.init(logging_level="warning", log_to_driver=False, runtime_env={"env_vars": _modules_of_workers()})
        return
    with keeping_sigterm(), without_lines("RAY_BACKEND_LOG_LEVEL"):  # being told to be quiet, it tells so
        own_ray.start()


def _modules_of_workers() -> dict[str, str]:
    """The variable by which workers find modules of the user's own; a job's workers have its variables and package."""
    return {} if "RAY_JOB_CONFIG_JSON_ENV_VAR" in os.environ else {FOLDER_VARIABLE: os.path.abspath(own_modules())}


def place(resources: Resources, announce: Callable[[str], None]) -> Placement:
    """What the cluster offers now. A GPU actor asks for no CPU: with one each they could take all and wait for ever."""
    import ray

    wanted = None if resources.devices == "auto" else resources.devices
    if resources.wait_for_gpus:
        _wait_for_a_gpu(wanted or 1, resources.wait_for_gpus, announce)
    offered = ray.cluster_resources()
    gpus, cpus = int(offered.get("GPU", 0)), int(offered.get("CPU", 0))
    if gpus:
        if wanted is not None and wanted > gpus and not resources.wait_for_gpus:
            raise InputError(
                f"resources.devices: {wanted} were asked for, and the cluster has {gpus} GPUs; lower it, or set "
                "resources.wait_for_gpus to begin with these."
            )
        return Placement(min(gpus, wanted or gpus), wanted, gpus=1, cpus=0, threads=None)
    if resources.compile == "graphs":
        raise InputError(
            "resources.compile: graphs needs a GPU, and the cluster has none; allowed here: true, false. "
            "resources.wait_for_gpus waits for GPUs that are still to join."
        )
    if not cpus:
        raise InputError(
            "resources: the cluster has neither GPUs nor CPU cores yet; resources.wait_for_gpus waits for its GPUs."
        )
    spare = max(1, cpus - 1)  # one slot scores
    threads = resources.cpus_per_device or max(1, spare // _CPU_ACTORS)
    actors = wanted or max(1, spare // threads)
    if actors * threads > spare:
        raise InputError(
            f"resources: {actors} actors of {threads} cores were asked for, and {spare} of {cpus} cores are free for "
            "solving (one scores); lower devices or cpus_per_device."
        )
    return Placement(actors, actors, gpus=0, cpus=threads if cpus > 1 else 0, threads=threads)


def _wait_for_a_gpu(wanted: int, seconds: float, announce: Callable[[str], None]) -> None:
    """Ask the autoscaler for the GPUs, and return with the first."""
    import ray
    from ray.autoscaler.sdk import request_resources

    if ray.cluster_resources().get("GPU"):
        return
    announce(f"the cluster has no GPU yet: {wanted} asked of its autoscaler, waiting up to {seconds:.0f} s for a first")
    ask = time.monotonic()
    deadline = ask + seconds
    try:
        while not ray.cluster_resources().get("GPU"):
            now = time.monotonic()
            if now > deadline:
                raise InputError(
                    f"resources.wait_for_gpus: no GPU joined the cluster within {seconds:.0f} s; look at `ray status`, "
                    "or wait longer."
                )
            if now >= ask:
                request_resources(bundles=[{"GPU": 1}] * wanted)
                ask = now + _ASK_SECONDS
            time.sleep(1)
    finally:
        request_resources(bundles=[])  # it would outlive this process, and keep machines that nobody uses


def devices_now() -> str:
    """The cluster's devices in words."""
    import ray

    offered = ray.cluster_resources()
    return f"{offered.get('GPU', 0):.0f} GPUs and {offered.get('CPU', 0):.0f} CPUs"
