"""How busy machines are while they solve: a sample of each shard, kept beside the results."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psutil  # type: ignore[import-untyped]
import pyarrow as pa
import torch

from operators import InputError
from pipelines.schemas import LOAD_SCHEMA
from pipelines.storage.sweep_folder import SweepFolder

_SECONDS_BETWEEN_WRITES = 60.0
_SAMPLES_IN_A_PART = 1000
"""Of 700 bytes each while they wait; a sweep of a million items has 60 such parts."""
_GIB = 2**30


class MachineLoad:
    """What a device's machine is doing."""

    def __init__(self, host: str, device: torch.device):
        self.host, self.device = host, device
        self.before = core_seconds()

    def sample(self) -> dict[str, Any]:
        """The share of all cores since the last sample, and the memory in use now, of a GPU too."""
        (idle, total), (idle_before, total_before) = core_seconds(), self.before
        self.before, passed = (idle, total), total - total_before
        busy = 100 * (1 - (idle - idle_before) / passed) if passed > 0 else 0.0
        memory, gpu_percent, gpu_gib = psutil.virtual_memory(), None, None
        if self.device.type == "cuda":
            free, total = torch.cuda.mem_get_info(self.device)
            gpu_gib = (total - free) / _GIB
            with suppress(ImportError, RuntimeError):  # without NVIDIA's own library there is no share
                gpu_percent = float(torch.cuda.utilization(self.device))
        return {
            "time": time.time(), "host": self.host, "cpu_percent": busy,
            "memory_gib": (memory.total - memory.available) / _GIB, "gpu_percent": gpu_percent,
            "gpu_memory_gib": gpu_gib,
        }  # fmt: skip


def core_seconds() -> tuple[float, float]:
    """Of all cores since the machine started: idle, and in all; `psutil.cpu_percent` begins anew in every thread."""
    times = psutil.cpu_times()
    guests = getattr(times, "guest", 0.0) + getattr(times, "guest_nice", 0.0)  # counted in `user` and `nice` already
    return times.idle + getattr(times, "iowait", 0.0), sum(times) - guests


class LoadRecord:
    """The samples of one run of a sweep, written now and then, and at its end; what fills a part is let go of."""

    def __init__(self, folder: SweepFolder, run: str):
        self.folder, self.run, self.part = folder, run, 0
        self.samples: list[dict[str, Any]] = []
        self.written = time.monotonic()

    def add(self, sample: dict[str, Any] | None) -> None:
        """A shard's sample; None of a shard that was not solved."""
        if sample is None:
            return
        self.samples.append(sample)
        whole = len(self.samples) >= _SAMPLES_IN_A_PART
        if whole or time.monotonic() - self.written >= _SECONDS_BETWEEN_WRITES:
            self.write()
        if whole:  # written or not: a store that is away must not fill the memory
            self.samples, self.part = [], self.part + 1

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Writes what there is however the run ends."""
        try:
            yield
        finally:
            self.write()

    def write(self) -> None:
        """Keep what there is; a store that is away has trouble enough to tell."""
        self.written = time.monotonic()
        if self.samples:
            name = self.folder.load_name(self.run, self.part)
            with suppress(InputError):
                self.folder.store.write_table(name, pa.Table.from_pylist(self.samples, schema=LOAD_SCHEMA))
