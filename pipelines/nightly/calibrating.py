"""A fixed piece of work, timed on the night's own devices: the unit in which speed and memory are told."""

import time
from statistics import median

import torch

from g2d2.methods.recording import peak_bytes
from pipelines.nightly.records import Reading
from pipelines.plan.sweep_spec import Resources
from pipelines.solve.devices import connect, place
from pipelines.solve.patience import announce

_REPEATS = 7
_ROUNDS = {"cpu": 4, "cuda": 400}
"""Of the work in one repeat: about a quarter of a second on a slow core, and no mere launches on a GPU."""


def calibrate(resources: Resources) -> list[Reading]:
    """One reading per device, all at the same time, as the solvers run."""
    connect()
    import ray

    placement = place(resources, announce)
    task = ray.remote(num_cpus=placement.cpus, num_gpus=placement.gpus)(_read_as_worker)
    found = ray.get([task.remote(placement.threads) for _ in range(placement.actors)])
    return [Reading(**values) for values in found]


def read_device(device: torch.device) -> Reading:
    """The median time of convolutions and products with gradients, and the peak memory that goes with it."""
    from pipelines.solve.solving import device_name  # with the model libraries

    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    generator = torch.Generator(device).manual_seed(0)
    images = torch.randn(8, 32, 32, 32, generator=generator, device=device)
    kernel = torch.randn(32, 32, 3, 3, generator=generator, device=device, requires_grad=True)
    matrix = torch.randn(256, 256, generator=generator, device=device, requires_grad=True)
    seconds = []
    for _ in range(1 + _REPEATS):
        started = time.perf_counter()
        for _ in range(_ROUNDS[device.type]):
            features = torch.nn.functional.conv2d(images, kernel, padding=1).relu()
            ((features.reshape(-1, 256) @ matrix).softmax(-1).square()).mean().backward()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        seconds.append(time.perf_counter() - started)
    return Reading(seconds=median(seconds[1:]), peak_bytes=peak_bytes(device), device=device_name(device))


def _read_as_worker(threads: int | None) -> dict[str, object]:
    if threads is not None:
        torch.set_num_threads(threads)
    return read_device(torch.device("cuda" if torch.cuda.is_available() else "cpu")).model_dump()
