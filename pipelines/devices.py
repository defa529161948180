"""One solver actor per device: how many there are, and what each may take."""

import os
import secrets
import sys
from dataclasses import dataclass

from operators import InputError
from pipelines.spec import Resources

_CPU_ACTORS = 4
"""Actors that share a machine's cores without GPUs: several with few threads beat one with many."""


@dataclass(frozen=True)
class Placement:
    """Actors and what each of them reserves."""

    actors: int
    gpus: float
    cpus: float
    threads: int | None
    """Torch threads of an actor; None leaves torch's choice on a GPU machine."""

    def __str__(self) -> str:
        if self.gpus:
            return f"{self.actors} GPU{'s' if self.actors > 1 else ''}"
        return f"{self.actors} CPU actor{'s' if self.actors > 1 else ''} of {self.threads} thread(s)"


def connect() -> None:
    """Join the cluster that RAY_ADDRESS or the surrounding job names, else start Ray on this machine alone."""
    alone = not os.environ.get("RAY_ADDRESS")
    if alone and "ray" not in sys.modules and "RAY_AUTH_MODE" not in os.environ:
        # Ray reads this when it is imported. A token for this run alone leaves nothing in the user's home.
        os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
        os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")  # its C++ side writes to the terminal otherwise
    import ray

    if ray.is_initialized():
        return
    if not alone:
        ray.init(logging_level="warning", log_to_driver=False)
        return
    ray.init(
        address="local",
        num_cpus=1 + (os.cpu_count() or 1),  # scoring is light: it gets a slot without taking a core from solving
        include_dashboard=False,
        logging_level="warning",
        log_to_driver=False,
    )


def place(resources: Resources) -> Placement:
    """What the cluster offers now. A GPU actor asks for no CPU: with one each they could take all and wait for ever."""
    import ray

    offered = ray.cluster_resources()
    gpus, cpus = int(offered.get("GPU", 0)), int(offered.get("CPU", 0))
    if gpus:
        actors = gpus if resources.devices == "auto" else resources.devices
        if actors > gpus:
            raise InputError(f"resources.devices: {actors} were asked for, and the cluster has {gpus} GPUs.")
        return Placement(actors, gpus=1, cpus=0, threads=None)
    spare = max(1, cpus - 1)  # one slot scores
    threads = resources.cpus_per_device or max(1, spare // _CPU_ACTORS)
    actors = max(1, spare // threads) if resources.devices == "auto" else resources.devices
    if actors * threads > spare:
        raise InputError(
            f"resources: {actors} actors of {threads} cores were asked for, and {spare} of {cpus} cores are free for "
            "solving (one scores); lower devices or cpus_per_device."
        )
    return Placement(actors, gpus=0, cpus=threads if cpus > 1 else 0, threads=threads)
